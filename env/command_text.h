// The program's command line as captures tell it: for people, without what must not be told.
#pragma once

#include <span>
#include <string>

#include "env/settings.h"

namespace refrain::env {

/// The words, separated by blanks: all of them, the program alone or none. What a word calls a secret is always
/// replaced by "***", to the end of that word:
///
///   NAME=value, --name=value, name:value   where the name says so
///   --name value                           the next word
///   scheme://user:value@host
///
/// A name (split at '-', '_' and '.', in any case) says so if a part of it is or ends with password, passwd,
/// passphrase, secret, token, apikey, accesskey or privatekey, is pass, pwd, auth, authorization, bearer, cookie,
/// credential or credentials, or if its last part is key. Secrets that are only known by their place (`-p value`) are
/// not found.
std::string command_text(std::span<const std::string> words, CommandChoice how);

}  // namespace refrain::env
