// What a capture's lanes did when, as small as a page can have it.
#pragma once

#include <nlohmann/json.hpp>

#include "capture/model.h"

namespace refrain::page {

/// {"unit_ns", "length_ns", "from": "calls" | "stretches", "names": [[text, state, place of the queue or -1] …],
///  "queues": [[id, device] …], "lanes": [{"lane", "calls", "states": [[calls, ns] of each state], …} …],
///  "lanes_left_out"}
/// Times begin with the first call. States: 0 submission, 1 submission that the program waited for, 2 host call, 3
/// stretch.
///
/// Few calls are told one by one: a lane has "begin", "took" (both in units) and "what" (place in `names`), arrays of
/// 32, 32 and 16 bits, little endian, as base64. Of many it is told how much of each of "bins" equal parts of the time
/// a lane spent in each state ("shares": 8 bits for each of the first three), how many calls began there ("counts": 16
/// bits), and the same for submissions by queue ("queue_shares", "queue_counts").
nlohmann::json timeline_data(const capture::Capture& capture);

}  // namespace refrain::page
