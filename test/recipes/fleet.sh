# The file /etc/ld.so.preload, in an /etc that this process alone sees.
# shellcheck shell=bash disable=SC2154,SC1091
need jq unshare
need_root
if [ -z "${inside-}" ]; then
  inside=1 exec unshare --mount bash "$0" "$1"
fi
mkdir etc
mount -t tmpfs none etc
mkdir etc/upper etc/work
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$PWD/etc/upper,workdir=$PWD/etc/work" /etc || skip "nothing can be laid over /etc"
rm -f /etc/refrain.conf /etc/ld.so.preload
unset REFRAIN_CONFIG
cp app another
cp /bin/true raised
chmod 4755 raised
block "Every program of a machine" 1 >lines
bash lines
./app >result 2>report
same_as_plain result
replayed report
./another >result 2>report
same_as_plain result
untouched report
REFRAIN_MODE=off ./app >result 2>report
same_as_plain result
untouched report
for words in ./raised "sh -c :" "ls /" "${static:-true}"; do
  $words >/dev/null 2>report || fail "$words"
  [ ! -s report ] || { cat report >&2; fail "$words says something"; }
done
echo 'mode = off' >>/etc/refrain.conf
./app >result 2>report
same_as_plain result
untouched report
