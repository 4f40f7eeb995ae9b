// The picture of a graph: what capture/fold.h leaves of it, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "capture/model.h"

namespace refrain::page {

/// {"queues": [id …], "labels": [text …], "nodes": [[number, label, queue, changing, why not recordable] …],
///  "items": [node | [times, node] | [times, [item …]] …], "edges": [[from, to, kind, next turn, times] …], "left_out":
///  N}
/// Nodes, labels and queues are named by their places in these lists. `changing`: how many of those that it stands for
/// change from one occurrence to the next. Of a large one the beginning is shown; `left_out` operations are not.
nlohmann::json picture_data(const capture::Capture& capture, const capture::StoredGraph& stored,
                            const capture::Graph& graph);

}  // namespace refrain::page
