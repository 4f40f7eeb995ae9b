// What the commands take, read from their own option tables: for manual pages and completions.
#pragma once

#include <string>
#include <vector>

namespace refrain::env {

struct OptionDescription {
  std::vector<std::string> names;  ///< as they are typed, short ones first; a setting's --no-NAME, too
  std::string value;               ///< the name of what stands behind it, "FILE"; empty: nothing
  std::vector<std::string> words;  ///< all values that it takes, if they are few
  std::string help;                ///< lines of text
  bool setting = false;            ///< one of the table of settings
  bool may_stand_alone = false;    ///< though it can have a value
};

struct CommandDescription {
  std::string name;     ///< "run"
  std::string summary;  ///< a few words, without a full stop
  std::string text;     ///< what it does
  std::string usage;    ///< "refrain run [OPTIONS] -- COMMAND"
  std::string footer;
  std::vector<OptionDescription> options;
  bool takes_settings = false;
  bool takes_command = false;      ///< a command of the system, at the end
  bool takes_file = false;         ///< a file, at the end
  bool takes_process = false;      ///< before the words: the number of a process under Refrain
  std::vector<std::string> words;  ///< what it takes at the end, if that is a few words
};

/// All commands for users.
std::vector<CommandDescription> describe_commands();

/// The first sentence of a text of several lines, in one line.
std::string first_sentence(const std::string& text);

}  // namespace refrain::env
