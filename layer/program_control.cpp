// What programs call with layer/refrain.h. A part of the preloaded library (see exit_hooks.cpp): linked with nothing,
// takes no lock and allocates nothing, since it may be called before any layer is there, and beside a fork.
#include <atomic>
#include <cstring>

#include "env/control_hooks.h"
#include "env/exit_hooks.h"

namespace {

using refrain::env::Region;

/// A region, and those inside it.
struct Node {
  Region region;
  std::atomic<Node*> first_inside{nullptr};
  Node* next = nullptr;   ///< beside it, older
  std::size_t depth = 0;  ///< regions around it, and itself
};

constexpr std::size_t kMostLayers = 8;  // limit

std::atomic<const RefrainLayer*> layers[kMostLayers];
std::atomic<RefrainWish> wish{RefrainWish::kNone};
Node nodes[Region::kMost];
std::atomic<std::uint32_t> used{0};  ///< nodes that were taken
Node outermost;                      ///< stands for no region

/// Where the calling thread is.
struct Place {
  Node* node = nullptr;       ///< null: outermost
  std::uint32_t unnamed = 0;  ///< regions inside it that got no node
};
constinit thread_local Place place __attribute__((tls_model("initial-exec")));

Node* find(const Node* from, const Node* end, const char* name) noexcept {
  for (const Node* node = from; node != end; node = node->next) {
    if (std::strncmp(node->region.name, name, Region::kLongestName) == 0) {
      return const_cast<Node*>(node);
    }
  }
  return nullptr;
}

/// Not in the middle of a letter (UTF-8).
void copy_name(char* to, const char* name) noexcept {
  std::size_t length = 0;
  while (length < Region::kLongestName && name[length] != '\0') {
    ++length;
  }
  if (name[length] != '\0') {
    while (length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0U) == 0x80U) {
      --length;
    }
  }
  std::memcpy(to, name, length);
}

/// Null if there are too many, or it would be too deep.
Node* make(Node& around, Node* seen, const char* name) noexcept {
  if (around.depth >= Region::kDeepest) {
    return nullptr;
  }
  const std::uint32_t number = used.load(std::memory_order_relaxed) < Region::kMost ? used.fetch_add(1) : Region::kMost;
  if (number >= Region::kMost) {
    return nullptr;
  }
  Node& made = nodes[number];
  made.region.parent = &around == &outermost ? nullptr : &around.region;
  made.region.id = number + 1;
  made.depth = around.depth + 1;
  copy_name(made.region.name, name);
  made.next = seen;
  while (!around.first_inside.compare_exchange_weak(made.next, &made, std::memory_order_acq_rel)) {
    if (Node* other = find(made.next, seen, made.region.name)) {  // another thread was faster; the node is lost
      return other;
    }
    seen = made.next;
  }
  return &made;
}

Node* inside(Node& around, const char* name) noexcept {
  char cut[Region::kLongestName + 1] = {};
  copy_name(cut, name);
  Node* const first = around.first_inside.load(std::memory_order_acquire);
  Node* const known = find(first, nullptr, cut);
  return known != nullptr ? known : make(around, first, cut);
}

void tell(void (*RefrainLayer::*what)() noexcept) noexcept {
  for (const auto& entry : layers) {
    if (const RefrainLayer* layer = entry.load(std::memory_order_acquire); layer != nullptr) {
      (layer->*what)();
    }
  }
}

void tell_region() noexcept {
  const Region* const now = place.node == nullptr ? nullptr : &place.node->region;
  for (const auto& entry : layers) {
    if (const RefrainLayer* layer = entry.load(std::memory_order_acquire); layer != nullptr) {
      layer->region(now);
    }
  }
}

}  // namespace

extern "C" {

REFRAIN_HOOK RefrainWish refrain_attach(const RefrainLayer* layer) {
  for (auto& entry : layers) {
    const RefrainLayer* none = nullptr;
    if (entry.compare_exchange_strong(none, layer)) {
      break;
    }
  }
  return wish.load();
}

REFRAIN_HOOK const Region* refrain_region_now() {
  return place.node == nullptr ? nullptr : &place.node->region;
}

REFRAIN_HOOK void refrain_start() {
  wish.store(RefrainWish::kStart);
  tell(&RefrainLayer::start);
}

REFRAIN_HOOK void refrain_stop() {
  wish.store(RefrainWish::kStop);
  tell(&RefrainLayer::stop);
}

REFRAIN_HOOK void refrain_flush() {
  tell(&RefrainLayer::flush);
}

REFRAIN_HOOK void refrain_region_begin(const char* name) {
  Node& around = place.node == nullptr ? outermost : *place.node;
  Node* const entered = place.unnamed != 0 || name == nullptr ? nullptr : inside(around, name);
  if (entered == nullptr) {
    ++place.unnamed;
    return;
  }
  place.node = entered;
  tell_region();
}

REFRAIN_HOOK void refrain_region_end() {
  if (place.unnamed != 0) {
    --place.unnamed;
    return;
  }
  if (place.node == nullptr) {
    return;  // it never began
  }
  const Region* const around = place.node->region.parent;
  place.node = around == nullptr ? nullptr : &nodes[around->id - 1];
  tell_region();
}

}  // extern "C"
