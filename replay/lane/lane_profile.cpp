// What a lane learns of another run, and leaves for the next one.
#include <algorithm>
#include <exception>

#include "env/log.h"
#include "replay/lane/lane.h"

namespace refrain::replay {

void Lane::learn_from_profile() noexcept {
  if (!replaying_ || !context_.profile.ready() || front().sequence != 0) {
    return;
  }
  try {
    if (const auto known = context_.profile.take(number_)) {
      tuner_.learn(known->pace);  // by which patterns are divided
      intervals_.learn(known->intervals);
      use_plan(intervals_.plan());
      note_chunks(ChunkChange::Why::kProfile);
      matcher_.learn(known->patterns);
    }
  } catch (const std::exception& error) {
    env::log_warning({"the profile is not used: ", error.what()});
  }
}

void Lane::leave_profile() noexcept {
  if (!replaying_ || !context_.profile.wanted()) {
    return;
  }
  profile_due_ = std::max(counters_.cuts.get(), kFirstProfile) * 4;
  try {
    context_.profile.keep({number_, matcher_.known(), tuner_.known(), intervals_.known()});
  } catch (const std::exception&) {
    // No memory: the next run learns it again.
  }
}

}  // namespace refrain::replay
