// LD_PRELOAD separates files by blanks and colons: what lies in a folder whose path has one is preloaded through a
// link.
#pragma once

#include <string>
#include <vector>

namespace refrain::env {

/// Where links may be made, best first: folders of this user, who may have none of them.
std::vector<std::string> places_for_links();

/// `folder` itself if its path has no blank or colon, else that of a link to it in the first of `places` in which one
/// can be made, or is already. Empty if there is none. A place is made if it is not there, and is not used if others
/// could change what is in it. Links stay: processes that are running name them.
std::string folder_without_separators(const std::string& folder, const std::vector<std::string>& places);

}  // namespace refrain::env
