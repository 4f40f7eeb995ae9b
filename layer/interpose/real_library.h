// The real library: opened by path at the first call of any of its functions, never earlier.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "env/settings.h"
#include "layer/interpose/address_map.h"
#include "layer/interpose/missing_functions.h"
#include "layer/interpose/stub_table.h"

namespace refrain::layer::interpose {

/// What libraries whose place is taken do not have in common.
struct LibraryFacts {
  const char* api;                            ///< for people: "CUDA"
  const char* short_name;                     ///< for `refrain doctor`: "cuda"
  bool env::Settings::*wanted;                ///< whether the user wants calls to be watched
  std::string env::Settings::*file;           ///< where the user says that the library is
  const char* file_setting;                   ///< the name of that setting
  const char* marker;                         ///< a symbol that our own library of that name exports
  std::span<const char* const> folders;       ///< where the library may be, besides where the dynamic linker looks
  const char* probe;                          ///< a function that the library has for sure
  const char* no_device;                      ///< what calls report if there is no library
  std::string_view prefix;                    ///< of its functions: what else it exports is not looked at
  void* functions;                            ///< pointers to the real functions, in the order of the entries
  std::size_t function_count;                 ///< of these; the other entries are called by nobody but programs
  std::span<void* const> (*answered)();       ///< where stubs behind those of the entries lead; null: there are none
  const MissingFunctions& missing;            ///< what calls get where there is no function
  IsVersion is_version;                       ///< see AddressMap
  std::string (*spell)(const std::string&);   ///< how a path is given to dlopen(); null: as it is
  void (*loaded)();                           ///< see RealLibrary::take_over()
  void (*not_loaded)() noexcept;              ///< all calls pass through from now on; null: nothing to do
  void (*give_up)(const char* why) noexcept;  ///< there are calls that can't be watched: nothing may be held any more
};

/// One in each layer; constant-initialised, because other libraries' constructors may call us before ours have run.
class RealLibrary {
 public:
  constexpr RealLibrary(const LibraryFacts& facts, std::span<const EntryDescription> entries) noexcept
      : facts_(facts), stubs_(entries) {}

  /// What refrain_layer_open() does: the starter's stubs call us from now on. Null if it is of another build.
  ///
  /// The first call of any function reads the settings, opens the log, puts the environment of children right, opens
  /// the library, and then calls facts.loaded(), which may throw: then nothing of ours may be known to anybody. The
  /// real functions can be called then, and no call of the program has reached one yet. Other threads' calls wait until
  /// it returns: it must not wait for a thread that calls exported functions (on this thread they lead to the library
  /// itself).
  [[nodiscard]] FirstCall take_over(const Starter& starter) noexcept;

  /// Made on first use and never destroyed: the program's threads may call us while the process exits.
  [[nodiscard]] static env::Settings& settings() noexcept;
  /// Whether calls are watched at all: if not, every stub leads straight to the library, and functions that hand out
  /// addresses hand out the library's own. Fixed once the settings are read.
  [[nodiscard]] bool interposing() const noexcept;

  /// The library's own function with this exact exported name; null if it has none or is not open.
  [[nodiscard]] void* function(const char* name) const noexcept;
  /// What the program gets instead of `function`, which the library handed out: see AddressMap::map().
  [[nodiscard]] void* address_for_program(void* function, const char* wanted, const std::string& label) noexcept;
  /// All stubs lead straight to the library from now on.
  void pass_everything() noexcept;

  [[nodiscard]] StubTable& stubs() noexcept { return stubs_; }

  /// Functions of the entries that the library has, of these those of each class, and what it has besides: host calls.
  struct Counts {
    int entries = 0, neutral = 0, host = 0, typed = 0, unknown = 0;
  };
  /// Valid once the library is open.
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  static void* first_call(std::uint32_t index) noexcept;
  void* load_for(std::uint32_t index) noexcept;
  void load() noexcept;
  void read_settings();
  [[nodiscard]] void* open() const;
  void resolve(void* opened);
  void note_unknown_exports(void* opened);
  void count(EntryClass entry_class) noexcept;
  void notify_doctor() const;
  void set_function(std::size_t index, void* function) noexcept;
  void lead_to(void* opened) noexcept;
  void lead_nowhere() noexcept;
  [[nodiscard]] AddressMap& addresses() noexcept;

  const LibraryFacts& facts_;
  StubTable stubs_;
  std::atomic<void*> opened_{nullptr};
  std::atomic<bool> done_{false};
  Counts counts_;
};

}  // namespace refrain::layer::interpose
