#include "replay/graph/graph_label.h"

#include <catch2/catch.hpp>

#include "replay/engine_test_support.h"
#include "replay/graph/executable.h"

namespace refrain::replay {
namespace {

using capture::OperationKind;
using capture::OperationView;

class Names final : public test::TestHooks {
 public:
  using TestHooks::TestHooks;
  std::string function_name(capture::FunctionId function) noexcept override {
    return function == 1 ? "_Z5scalePfi" : function == 2 ? std::string(200, 'x') : "";
  }
};

std::string label_of(std::initializer_list<std::pair<OperationKind, capture::FunctionId>> work) {
  Occurrence occurrence;
  for (const auto& [kind, function] : work) {
    capture::RecordBytes bytes;
    capture::OperationWriter writer(bytes);
    writer.begin(kind, 1).function = function;
    writer.finish();
    occurrence.add(OperationView(bytes.data()));
  }
  std::vector<OperationView> views;
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    views.push_back(occurrence.operation(i));
  }
  GraphLabel label;
  label.learn(views);
  test::ArithmeticBackend backend;
  Names hooks(backend);
  return label.text(hooks);
}

TEST_CASE("a graph is called by what it does, in the order in which that comes first") {
  using enum OperationKind;
  CHECK(label_of({}).empty());
  CHECK(label_of({{kKernel, 1}, {kPointerFill, 0}, {kKernel, 1}}) == "scale x2, fill");
  CHECK(label_of({{kEventWait, 0}, {kKernel, 1}, {kEventRecord, 0}}) == "scale");
  CHECK(label_of({{kEventRecord, 0}, {kEventRecord, 0}}) == "event record x2");
  CHECK(label_of({{kKernel, 1}, {kPointerFill, 0}, {kPointerCopy, 0}, {kKernel, 3}, {kKernel, 4}}) ==
        "scale, fill, copy and 2 more");
  CHECK(label_of({{kKernel, 3}}) == "kernel");
  CHECK(label_of({{kKernel, 2}}).size() <= 64);
}

}  // namespace
}  // namespace refrain::replay
