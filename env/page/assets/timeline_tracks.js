// What the timeline draws: tracks that tell, for any part of the time, how much of it was spent in what.

const kStates = [["submission", "eager"], ["submission that waits", "blocking"], ["host call", "waits"], ["stretch", "stretch"],
  // Of a report: what became of the submissions from wait to wait.
  ["replayed", "stretch"], ["eager", "eager"], ["wait", "waits"], ["held but issued one by one", "blocking"]];
/// Of the parts of an interval: see report_timeline.h.
const kPartStates = [4, 7, 5];

function numbersOf(text, Type) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) bytes[i] = letters.charCodeAt(i);
  return new Type(bytes.buffer);
}

/// Slices one by one. `wanted(name)` says which of them belong to the track; null: all.
class ExactTrack {
  constructor(label, timeline, begin, took, what) {
    Object.assign(this, {label, timeline, begin, took, what});
    // In a queue that several lanes use slices overlap: up to where those in front of one reach.
    this.reach = new Float64Array(begin.length);
    for (let slice = 0, most = 0; slice < begin.length; ++slice) this.reach[slice] = most = Math.max(most, begin[slice] + took[slice]);
  }
  /// The first slice that, or one in front of which, ends after `time`.
  first(time) {
    let low = 0, high = this.begin.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.reach[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  /// What a slice is made of: a state, and how much of it.
  sharesOf(slice) {
    const [, state, , parts] = this.timeline.names[this.what[slice]];
    const sum = parts ? parts.reduce((a, b) => a + b, 0) : 0;
    return sum ? parts.map((part, place) => [kPartStates[place], part / sum]) : [[state, 1]];
  }
  /// Adds to `columns[state][i]` how much of each of so many columns between two times it takes.
  cover(from, to, columns, count) {
    const scale = count / (to - from);
    for (let slice = this.first(from); slice < this.begin.length && this.begin[slice] < to; ++slice) {
      const begin = Math.max(0, (this.begin[slice] - from) * scale);
      const end = Math.min(count, Math.max((this.begin[slice] + this.took[slice] - from) * scale, begin + 0.02));
      for (const [state, share] of this.sharesOf(slice)) {
        const column = columns[state];
        for (let i = Math.floor(begin); i < end; ++i) column[i] += share * (Math.min(end, i + 1) - Math.max(begin, i));
      }
    }
  }
  /// What is there, in words.
  describe(time, near) {
    let slice = this.first(time - near);
    if (slice >= this.begin.length || this.begin[slice] > time + near) return "nothing";
    while (slice + 1 < this.begin.length && this.begin[slice + 1] <= time) ++slice;
    const unit = this.timeline.unit_ns;
    const [name, state, , parts] = this.timeline.names[this.what[slice]];
    return `${parts ? "interval of" : kStates[state][0]} ${name}, ${duration(unit * this.took[slice])}, at ${duration(unit * this.begin[slice])}`;
  }
  /// Where the next slice after a time begins, and where the one before it does.
  neighbour(time, forward) {
    let slice = this.first(time);
    if (forward) {
      while (slice < this.begin.length && this.begin[slice] <= time) ++slice;
    } else {
      while (slice > 0 && (slice >= this.begin.length || this.begin[slice] >= time)) --slice;
    }
    return slice < this.begin.length ? this.begin[slice] : null;
  }
}

/// Shares of equal parts of the time.
class BinnedTrack {
  constructor(label, timeline, shares, counts) {
    Object.assign(this, {label, timeline, shares, counts});
    this.length = timeline.end / counts.length;  // of a bin, in units
  }
  cover(from, to, columns, count) {
    const width = (to - from) / count;
    for (let i = 0; i < count; ++i) {
      const first = Math.max(0, Math.floor((from + i * width) / this.length));
      const last = Math.min(this.counts.length - 1, Math.max(first, Math.ceil((from + (i + 1) * width) / this.length) - 1));
      for (let state = 0; state < this.shares.length; ++state) {
        let sum = 0;
        for (let bin = first; bin <= last; ++bin) sum += this.shares[state][bin];
        columns[state][i] += sum / 255 / Math.max(1, last - first + 1);
      }
    }
  }
  describe(time) {
    const bin = Math.min(this.counts.length - 1, Math.max(0, Math.floor(time / this.length)));
    const unit = this.timeline.unit_ns;
    const parts = this.shares.map((share, state) => [share[bin], state]).filter(([share]) => share)
      .map(([share, state]) => `${kStates[state][0]} ${percent(share / 255)}`);
    return `${plural(this.counts[bin], "call")} in ${duration(unit * this.length)} at ${duration(unit * bin * this.length)}` +
      (parts.length ? `: ${parts.join(", ")}` : "");
  }
  neighbour(time, forward) {
    let bin = Math.floor(time / this.length);
    const step = forward ? 1 : -1;
    for (bin += step; bin >= 0 && bin < this.counts.length; bin += step) if (this.counts[bin]) return bin * this.length;
    return null;
  }
}

/// A track for each lane, then one for each queue.
function tracksOf(timeline) {
  timeline.end = Math.max(1, timeline.length_ns / timeline.unit_ns);
  const lanes = [], queues = [];
  const nameOf = ([id, device]) => `queue ${id}${device ? `, ${device}` : ""}`;
  if (timeline.bins) {
    for (const lane of timeline.lanes) {
      lanes.push(new BinnedTrack(`lane ${lane.lane}`, timeline, lane.shares.map((share) => numbersOf(share, Uint8Array)),
                                 numbersOf(lane.counts, Uint16Array)));
    }
    timeline.queues.forEach((queue, place) => queues.push(new BinnedTrack(
      nameOf(queue), timeline, [numbersOf(timeline.queue_shares[place], Uint8Array)],
      numbersOf(timeline.queue_counts[place], Uint16Array))));
    return [...lanes, ...queues];
  }
  const found = timeline.queues.map(() => []);
  for (const lane of timeline.lanes) {
    const track = new ExactTrack(`lane ${lane.lane}`, timeline, numbersOf(lane.begin, Uint32Array), numbersOf(lane.took, Uint32Array),
                                 numbersOf(lane.what, Uint16Array));
    lanes.push(track);
    for (let slice = 0; slice < track.what.length; ++slice) {
      const queue = timeline.names[track.what[slice]][2];
      if (queue >= 0) found[queue].push([track.begin[slice], track.took[slice], track.what[slice]]);
    }
  }
  timeline.queues.forEach((queue, place) => {
    const slices = timeline.lanes.length > 1 ? found[place].sort((a, b) => a[0] - b[0]) : found[place];
    queues.push(new ExactTrack(nameOf(queue), timeline, ...[0, 1, 2].map((part) => slices.map((slice) => slice[part]))));
  });
  return [...lanes, ...queues];
}
