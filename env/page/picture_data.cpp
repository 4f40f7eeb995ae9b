#include "env/page/picture_data.h"

#include <string>
#include <unordered_map>

#include "capture/fold.h"

namespace refrain::page {
namespace {

using capture::FoldedItem;
using capture::NodeIndex;

constexpr std::size_t kMostNodes = 300;

/// Gives each text a place in a list, once.
class Places {
 public:
  std::size_t of(const std::string& text) {
    const auto [place, is_new] = places_.try_emplace(text, list_.size());
    if (is_new) {
      list_.push_back(text);
    }
    return place->second;
  }
  nlohmann::json take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::size_t> places_;
  nlohmann::json list_ = nlohmann::json::array();
};

class Picture {
 public:
  Picture(const capture::Capture& capture, const capture::StoredGraph& stored, const capture::Graph& graph)
      : capture_(capture), graph_(graph), folded_(fold(graph, looks_of(capture, graph))) {
    const auto changes = changes_of(graph, stored.statistics());
    changing_.assign(graph.size(), 0);
    for (NodeIndex node = 0; node < graph.size(); ++node) {
      changing_[folded_.stands_for[node]] += changes[node] != 0 ? 1 : 0;
    }
  }

  nlohmann::json made() {
    nlohmann::json result;
    result["items"] = list(folded_.items);
    result["nodes"] = std::move(nodes_);
    result["labels"] = labels_.take();
    result["reasons"] = reasons_.take();
    result["queues"] = queues_.take();
    nlohmann::json& edges = result["edges"] = nlohmann::json::array();
    for (const capture::FoldedEdge& edge : folded_.edges) {
      const auto from = places_.find(edge.from), to = places_.find(edge.to);
      if (from != places_.end() && to != places_.end()) {
        edges.push_back(
            {from->second, to->second, static_cast<unsigned>(edge.reason), edge.next_turn ? 1 : 0, edge.times});
      }
    }
    result["left_out"] = left_out_;
    return result;
  }

 private:
  std::size_t node(NodeIndex number) {
    const capture::OperationView operation = graph_.operation(number);
    const char* why = capture::why_not_recordable(capture_, graph_, number);
    nodes_.push_back({number, labels_.of(capture::label_of(capture_, operation)),
                      queues_.of(std::to_string(graph_.queue_of(number).id)), changing_[number],
                      why == nullptr ? nlohmann::json(nullptr) : nlohmann::json(reasons_.of(why))});
    places_[number] = nodes_.size() - 1;
    return nodes_.size() - 1;
  }

  static std::size_t operations_of(const FoldedItem& item) {
    std::size_t each = item.body.empty() ? 1 : 0;
    for (const FoldedItem& inner : item.body) {
      each += operations_of(inner);
    }
    return each * item.times;
  }

  nlohmann::json list(const std::vector<FoldedItem>& items) {
    nlohmann::json result = nlohmann::json::array();
    for (const FoldedItem& item : items) {
      if (nodes_.size() >= kMostNodes) {
        left_out_ += operations_of(item);
      } else if (!item.body.empty()) {
        const std::size_t before = left_out_;
        nlohmann::json body = list(item.body);
        left_out_ = before + (left_out_ - before) * item.times;
        result.push_back({item.times, std::move(body)});
      } else if (item.times > 1) {
        result.push_back({item.times, node(item.node)});
      } else {
        result.push_back(node(item.node));
      }
    }
    return result;
  }

  const capture::Capture& capture_;
  const capture::Graph& graph_;
  const capture::FoldedGraph folded_;
  std::vector<std::uint32_t> changing_;
  std::unordered_map<NodeIndex, std::size_t> places_;
  nlohmann::json nodes_ = nlohmann::json::array();
  Places labels_, reasons_, queues_;
  std::size_t left_out_ = 0;
};

}  // namespace

nlohmann::json picture_data(const capture::Capture& capture, const capture::StoredGraph& stored,
                            const capture::Graph& graph) {
  return Picture(capture, stored, graph).made();
}

}  // namespace refrain::page
