// The profile of a process: read when its first queue is made, gathered while it runs, written at its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "env/mutex.h"
#include "env/settings.h"
#include "replay/profile/profile.h"

namespace refrain::replay {

/// Thread-safe. Nothing throws: without memory there is no profile.
class ProfileFile {
 public:
  explicit ProfileFile(const env::Settings& settings) noexcept;
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  /// Whether the program's user wants one.
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }
  /// The first call reads the file, if it is of this device (and of the rest of the origin). Later calls do nothing.
  void read(const std::string& device, const std::string& driver) noexcept;
  /// Since then lanes and graphs may be asked for.
  [[nodiscard]] bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
  /// What is known of the lane; once for each.
  [[nodiscard]] std::optional<LaneProfile> take(std::uint64_t lane) noexcept;
  [[nodiscard]] std::vector<GraphEntry::Known> graphs() noexcept;

  /// What the lane knows by now.
  void keep(LaneProfile lane) noexcept;
  /// At the end. A file that is no profile is left alone; so is one of which nothing more is known now.
  void write(std::vector<GraphEntry::Known> graphs) noexcept;

 private:
  void try_to_read(const std::string& device, const std::string& driver) REFRAIN_REQUIRES(mutex_);
  void try_to_write(std::vector<GraphEntry::Known> graphs) REFRAIN_REQUIRES(mutex_);

  bool wanted_ = false;
  std::string name_;  ///< absolute: the program may change its folder
  const mode_t mode_;
  std::atomic<bool> ready_{false};
  env::Mutex mutex_;
  bool read_ REFRAIN_GUARDED_BY(mutex_) = false;
  bool foreign_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< what has the name is not ours
  ProfileOrigin origin_ REFRAIN_GUARDED_BY(mutex_);  ///< this process's
  Profile before_ REFRAIN_GUARDED_BY(mutex_);        ///< as it was read
  std::vector<LaneProfile> lanes_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::replay
