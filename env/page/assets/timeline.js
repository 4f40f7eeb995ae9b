// The timeline: drawn on a canvas as far as it can be seen, zoomed and moved with wheel, mouse, buttons and keys.

class TimelineView {
  constructor(timeline) {
    this.timeline = timeline;
    this.tracks = tracksOf(timeline);
    this.from = 0;
    this.to = timeline.end;
    this.track = 0;
    this.cursor = 0;
    this.row = 26;
    this.head = 22;
    this.left = 150;
    this.canvas = el("canvas", {tabindex: 0, role: "application", "aria-roledescription": "timeline",
                                "aria-label": "Timeline. Left and right arrow: the call before and after; up and down: another track; plus and minus: zoom; 0: all."});
    this.canvas.style.height = `${this.height()}px`;  // before it is drawn: what is below stays where it is
    this.told = el("p", {class: "told", role: "status"}, "Point at the timeline, or move in it with the arrow keys, to see what is there.");
    const button = (label, action) => el("button", {type: "button", onclick: action}, label);
    this.whole = el("div", {class: "timeline"},
      el("p", {class: "tools"}, button("Zoom in", () => this.zoom(0.5)), button("Zoom out", () => this.zoom(2)),
         button("All", () => this.show(0, timeline.end)), button("◀ Earlier", () => this.move(-0.5)), button("Later ▶", () => this.move(0.5))),
      el("div", {class: "canvas"}, this.canvas), this.told);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
    document.addEventListener("theme", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move((event.deltaX || event.deltaY) / 1000);
      else this.zoom(Math.exp(event.deltaY / 400), this.timeAt(event.offsetX));
    }, {passive: false});
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = {x: event.offsetX, from: this.from, to: this.to};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => { held = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const moved = (held.x - event.offsetX) * (held.to - held.from) / this.width();
        this.show(held.from + moved, held.to + moved);
      } else this.point(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("keydown", (event) => {
      const actions = {ArrowLeft: () => this.step(false), ArrowRight: () => this.step(true), ArrowUp: () => this.choose(this.track - 1),
                       ArrowDown: () => this.choose(this.track + 1), "+": () => this.zoom(0.5, this.cursor), "=": () => this.zoom(0.5, this.cursor),
                       "-": () => this.zoom(2, this.cursor), "0": () => this.show(0, this.timeline.end),
                       Home: () => this.goTo(0), End: () => this.goTo(this.timeline.end), PageUp: () => this.move(-0.9), PageDown: () => this.move(0.9)};
      if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[event.key]();
    });
  }

  height() {
    return this.head + this.tracks.length * this.row + 6;
  }
  width() {
    return Math.max(50, this.canvas.clientWidth - this.left);
  }
  timeAt(x) {
    return this.from + (x - this.left) * (this.to - this.from) / this.width();
  }

  show(from, to) {
    const length = Math.min(Math.max(to - from, 4), this.timeline.end);
    this.from = Math.min(Math.max(0, from), this.timeline.end - length);
    this.to = this.from + length;
    this.draw();
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around + (this.from - around) * factor, around + (this.to - around) * factor);
  }
  move(part) {
    this.show(this.from + part * (this.to - this.from), this.to + part * (this.to - this.from));
  }
  goTo(time) {
    this.cursor = time;
    if (time < this.from || time > this.to) {
      const half = (this.to - this.from) / 2;
      this.show(time - half, time + half);
    }
    this.tell(this.track, time, 0);
  }
  step(forward) {
    const time = this.tracks[this.track].neighbour(this.cursor, forward);
    if (time !== null) this.goTo(time);
  }
  choose(track) {
    this.track = Math.min(Math.max(0, track), this.tracks.length - 1);
    this.tell(this.track, this.cursor, 0);
  }
  point(x, y) {
    const track = Math.floor((y - this.head) / this.row);
    if (track < 0 || track >= this.tracks.length || x < this.left) return;
    this.track = track;
    this.cursor = this.timeAt(x);
    this.tell(track, this.cursor, 2 * (this.to - this.from) / this.width());
  }
  tell(track, time, near) {
    this.told.textContent = `${this.tracks[track].label}: ${this.tracks[track].describe(time, near)}`;
    this.draw();
  }

  draw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      this.drawNow();
    });
  }

  drawNow() {
    const canvas = this.canvas, ratio = devicePixelRatio || 1;
    const wide = canvas.clientWidth, high = this.height();
    if (!wide) return;
    this.left = wide < 600 ? 90 : 190;
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawTimes(context, colour, high);
    this.tracks.forEach((track, place) => this.drawTrack(context, colour, track, place));
    if (this.cursor >= this.from && this.cursor <= this.to) {
      const x = this.left + (this.cursor - this.from) * this.width() / (this.to - this.from);
      context.fillStyle = colour("text");
      context.fillRect(x, this.head, 1, high);
    }
    canvas.dataset.view = `${this.from} ${this.to}`;
  }

  drawTimes(context, colour, high) {
    const unit = this.timeline.unit_ns, span = (this.to - this.from) * unit, wanted = Math.max(2, Math.floor(this.width() / 110));
    let step = 10 ** Math.floor(Math.log10(span / wanted));
    for (const more of [2, 2.5, 2]) if (span / step > wanted) step *= more;
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("line");
    for (let time = Math.ceil(this.from * unit / step) * step; time <= this.to * unit; time += step) {
      const x = this.left + (time / unit - this.from) * this.width() / (this.to - this.from);
      context.fillRect(x, 16, 1, 5);
      context.beginPath();
      context.moveTo(x, this.head);
      context.lineTo(x, high);
      context.stroke();
      context.fillText(duration(time), x + 2, 9);
    }
  }

  drawTrack(context, colour, track, place) {
    const y = this.head + place * this.row, count = Math.floor(this.width());
    if (place === this.track) {
      context.fillStyle = colour("chosen");
      context.fillRect(0, y, this.left - 4, this.row - 2);
    }
    context.fillStyle = colour("text");
    context.save();
    context.beginPath();
    context.rect(0, y, this.left - 6, this.row);
    context.clip();
    context.fillText(track.label, 6, y + this.row / 2);
    context.restore();
    const columns = kStates.map(() => new Float32Array(count + 1));
    track.cover(this.from, this.to, columns, count);
    const full = this.row - 6, colours = kStates.map(([, name]) => colour(name));
    for (let i = 0; i < count; ++i) {
      let bottom = y + this.row - 3;
      for (let state = 0; state < kStates.length; ++state) {
        const share = Math.min(1, columns[state][i]);
        if (!share) continue;
        const height = Math.max(2, share * full);
        context.fillStyle = colours[state];
        context.fillRect(this.left + i, Math.max(y + 2, bottom - height), 1, Math.min(height, bottom - y - 2));
        bottom -= height;
        if (bottom <= y + 3) break;
      }
    }
  }
}

function timelineSection(input) {
  const timeline = input.timeline;
  const view = new TimelineView(timeline);
  const states = {calls: [0, 1, 2], stretches: [3], report: [4, 7, 5, 6]}[timeline.from];
  const about = timeline.from === "report"
    ? "Times are the host's, from wait to wait: how long the program submitted, and how long it waited then. While it submits, the height of a colour is the share of the submissions that were replayed in graphs, were held but issued one by one, or were eager: not when they were. A submission that waits by itself counts as submitted. What the program does between two submissions is inside; a gap is what it does behind a wait. Threads that never wait are not shown, and nothing of a thread while it is dormant because nothing has paid."
    : timeline.from === "calls"
    ? "Times are the host's: how long each call took. In a capture nothing is held or replayed. A queue's track shows the calls that gave it work."
    : "This file has no times of calls (it is an older one, or capture_calls was 0): what is shown is when stretches, or loops of them, began and ended.";
  const parts = [
    el("p", {class: "note"}, about),
    timeline.bins ? el("p", {class: "note"}, `${plural(timeline.calls, "call")}, told in ${grouped(timeline.bins)} parts of ${duration(timeline.length_ns / timeline.bins)}.`) : null,
    timeline.left_out ? el("p", {class: "note"}, `${plural(timeline.left_out, "later interval")} not shown.`) : null,
    timeline.lanes_left_out ? el("p", {class: "note"}, `${plural(timeline.lanes_left_out, "lane")} with fewer calls are not shown.`) : null,
    el("ul", {class: "legend"}, states.map((state) => el("li", {}, el("span", {class: `swatch ${kStates[state][1]}`}), kStates[state][0]))),
    view.whole,
  ];
  if (timeline.from === "calls") {
    const rows = timeline.lanes.map((lane) => ({lane: `lane ${lane.lane}`, calls: lane.calls, submitted: lane.states[0][1], blocked: lane.states[1][1],
      hosted: lane.states[2][1], own: Math.max(0, timeline.length_ns - lane.states[0][1] - lane.states[1][1] - lane.states[2][1])}));
    parts.push(makeTable([{key: "lane", label: "Lane"}, {key: "calls", label: "Calls", number: true},
                          {key: "submitted", label: "In submissions", number: true, format: duration, title: "That do not wait"},
                          {key: "blocked", label: "In submissions that wait", number: true, format: duration},
                          {key: "hosted", label: "In host calls", number: true, format: duration},
                          {key: "own", label: "Outside of these", number: true, format: duration}],
                         rows, {caption: "Where each lane's time went, as far as calls are told", what: "lane"}));
  }
  if (timeline.from === "report") {
    const rows = timeline.lanes.map((lane) => ({lane: `lane ${lane.lane}`, calls: lane.calls, in_graphs: lane.in_graphs,
      launches: lane.launches, held_issued: lane.held_issued, eager: lane.eager, with: lane.states[0][1],
      without: lane.states[1][1], waits: lane.states[2][1], holding: lane.hold_ns * (lane.in_graphs + lane.held_issued)}));
    parts.push(makeTable([{key: "lane", label: "Lane"}, {key: "calls", label: "Intervals", number: true},
                          {key: "in_graphs", label: "Replayed", number: true},
                          {key: "launches", label: "Launches", number: true, title: "Of graphs"},
                          {key: "held_issued", label: "Held only", number: true, title: "Held, but issued one by one in the end"},
                          {key: "eager", label: "Eager", number: true},
                          {key: "with", label: "Submitting with graphs", number: true, format: duration,
                           title: "Intervals of which half was in graphs, up to the wait"},
                          {key: "without", label: "Without", number: true, format: duration, title: "The other ones, up to the wait"},
                          {key: "holding", label: "Holding, about", number: true, format: duration,
                           title: "Of these two: submissions that were held, times what holding one usually takes"},
                          {key: "waits", label: "Waiting", number: true, format: duration}],
                         rows, {caption: "What became of each lane's submissions, and where its time went, as far as intervals are told", what: "lane"}));
  }
  return parts;
}
