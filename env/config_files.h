// Which config files a process reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::env {

/// Of every process of the system.
inline constexpr const char* kSystemConfig = "/etc/refrain.conf";

/// What decides it.
struct ConfigPlaces {
  std::string system;                     ///< the file of the whole system; empty: none
  std::optional<std::string_view> named;  ///< REFRAIN_CONFIG
  std::string_view home;                  ///< HOME
  std::string_view user_folder;           ///< XDG_CONFIG_HOME

  /// Takes note of a variable of the environment, if it is one of these.
  void see(std::string_view name, std::string_view value) noexcept;
};

/// The files in the order in which they are read: what stands in a later one wins. REFRAIN_CONFIG takes the place of
/// all others, and means none if it is empty or /dev/null. Else it is the file of the system, then the user's,
/// ${XDG_CONFIG_HOME:-~/.config}/refrain.conf; of these only what is there, or can't be looked at.
std::vector<std::string> config_files(const ConfigPlaces& places);

}  // namespace refrain::env
