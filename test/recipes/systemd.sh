# The drop-in over a unit: what systemd says of it, and its command with a service's bare environment.
# shellcheck shell=bash disable=SC2154,SC1091
need systemd-analyze
mkdir -p units/app.service.d
printf '[Unit]\nDescription=app\n[Service]\nType=notify\nExecStart=/usr/bin/app\n' >units/app.service
block "A systemd unit" 1 | sed "s|/usr/bin/app|$PWD/app|" >units/app.service.d/refrain.conf
sed -i "s|/usr/bin/app|$PWD/app|" units/app.service
SYSTEMD_UNIT_PATH=$PWD/units: systemd-analyze verify app.service 2>said || { cat said >&2; fail "systemd-analyze verify"; }
! grep -q app.service said || { cat said >&2; fail "systemd does not like the unit"; }
command=$(sed -n 's/^ExecStart=\(..*\)/\1/p' units/app.service.d/refrain.conf | tail -n 1)
service=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin LANG=C LD_LIBRARY_PATH="$LD_LIBRARY_PATH" REFRAIN_GATE=off)
"${service[@]}" $command >result 2>report </dev/null
same_as_plain result
untouched report
"${service[@]}" ${command/--no-report /} >result 2>report </dev/null
same_as_plain result
replayed report
# The process that systemd knows stays the service's own.
"${service[@]}" sh -c 'echo $$; exec "$@"' sh ${command%%-- *} -- sh -c 'echo $$' >numbers
[ "$(uniq numbers | wc -l)" = 1 ] || fail "the main process changes"
