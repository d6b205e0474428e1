// Reads one rank's trace. Of the events only the marks are kept while parsing: a trace holds
// millions of others.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "formats/kineto_steps.h"
#include "formats/readers.h"
#include "formats/torch_cell.h"
#include "json_reader.h"
#include "json_text.h"
#include "penstock/kineto.h"
#include "penstock/number_text.h"
#include "problem_list.h"

namespace penstock {
namespace {

constexpr std::string_view kMark = "PP:";
constexpr std::string_view kStepMark = "ProfilerStep#";
constexpr std::string_view kHost = "user_annotation";
constexpr std::string_view kDevice = "gpu_user_annotation";
constexpr const char* kHint =
    "torch.profiler's export_chrome_trace writes one such file per rank; ScheduleGPipe and "
    "Schedule1F1B write no PP: marks, the schedules of several stages per rank and those loaded "
    "from CSV do";
// Bounds in us, so that a time is an int64 of ns with its base: 1970 to 2065, and 31 years.
constexpr double kLatest = 3e15;
constexpr double kLongest = 1e15;

bool is_mark(const nlohmann::json& event) {
  const auto name = event.find("name");
  if (name == event.end() || !name->is_string()) return false;
  const std::string& text = name->get_ref<const std::string&>();
  return text.starts_with(kMark) || text.starts_with(kStepMark);
}

// The document with nothing but the marks, and what else is read of it.
nlohmann::json parse_marks(std::string_view json, const std::string& where) {
  static const std::set<std::string> kKeys = {"traceEvents", "baseTimeNanoseconds",
                                              "distributedInfo", "deviceProperties", "penstock"};
  bool events = false;
  using Event = nlohmann::json::parse_event_t;
  return parse_json_part(json, where, [&](int depth, Event event, nlohmann::json& value) {
    if (event == Event::key && depth == 1) {
      const std::string& key = value.get_ref<const std::string&>();
      events = key == "traceEvents";
      return kKeys.contains(key);
    }
    if (!events) return true;
    if (depth == 3) return event != Event::object_start && event != Event::array_start;
    return event != Event::object_end || depth != 2 || is_mark(value);
  });
}

// A mark as the file has it.
struct Mark {
  std::string name;
  std::string lane;  // category, process and thread
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

Nanoseconds nanoseconds(double microseconds) {
  return static_cast<Nanoseconds>(std::llround(microseconds * 1000));
}

std::string lane_of(const JsonReader& event) {
  const auto part = [&](std::string_view key) {
    return event.has(key) ? json_text(event.at(key).value()) : std::string();
  };
  return event.text("cat") + " " + part("pid") + " " + part("tid");
}

std::vector<Mark> read_marks(const JsonReader& root, const std::vector<Problem>& problems) {
  std::vector<Mark> marks;
  const auto base = root.integer("baseTimeNanoseconds", {.max = 3'000'000'000'000'000'000});
  const JsonReader events = root.at("traceEvents");
  if (!events.is_array()) return marks;
  for (std::size_t i = 0; i < events.size() && problems.size() < ProblemList::kMost; ++i) {
    const JsonReader event = events.at(i);
    if (!event.value().is_object() || event.text("ph") != "X") continue;
    const std::string category = event.text("cat");
    if (category != kHost && category != kDevice) continue;
    const double start = event.number("ts", {.required = true, .max = kLatest});
    const double length = event.number("dur", {.required = true, .max = kLongest});
    marks.push_back({event.text("name"), lane_of(event), base + nanoseconds(start),
                     base + nanoseconds(start) + nanoseconds(length)});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.start < b.start; });
  return marks;
}

// The marks of the lane that spends most time in them.
std::vector<Mark> busiest_lane(const std::vector<Mark>& marks, std::string_view category) {
  std::map<std::string, Nanoseconds> busy;
  for (const Mark& mark : marks) {
    if (!mark.lane.starts_with(fmt::format("{} ", category))) continue;
    if (mark.name.starts_with(kMark)) busy[mark.lane] += mark.end - mark.start + 1;
  }
  std::vector<Mark> lane;
  if (busy.empty()) return lane;
  const auto most = std::max_element(
      busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(lane),
               [&](const Mark& mark) { return mark.lane == most->first; });
  return lane;
}

std::string_view cell_of(const Mark& mark) {
  return std::string_view(mark.name).substr(kMark.size());
}

// Whether B is the input gradient alone.
bool is_old_grammar(const std::vector<Mark>& marks) {
  std::set<std::string_view> words;
  for (const Mark& mark : marks) {
    if (!mark.name.starts_with(kMark)) continue;
    if (const auto actions = parse_cell(cell_of(mark))) {
      for (const TorchAction& action : *actions) words.insert(action.word);
    }
  }
  return words.contains("BW") || (words.contains("W") && !words.contains("I"));
}

std::size_t count_computes(const std::vector<Mark>& marks) {
  return static_cast<std::size_t>(std::count_if(marks.begin(), marks.end(), [](const Mark& mark) {
    if (!mark.name.starts_with(kMark)) return false;
    const auto actions = parse_cell(cell_of(mark));
    return actions && !actions->empty() &&
           (compute_kind(actions->front().word) || actions->front().word == "BW");
  }));
}

std::int32_t highest_stage(const std::vector<TorchAction>& actions) {
  std::int32_t highest = -1;
  for (const TorchAction& action : actions) {
    const bool to_next = action.word == "SEND_F" || action.word == "RECV_B";
    highest = std::max(highest, action.stage + (to_next ? 1 : 0));
  }
  return highest;
}

// The marks of one lane as events.
class Lane {
 public:
  Lane(KinetoRank& rank, bool old_grammar, std::vector<Problem>& problems)
      : rank_(rank), old_grammar_(old_grammar), problems_(problems) {}

  void see(const Mark& mark) {
    if (!mark.name.starts_with(kMark)) {
      see_step(mark);
      return;
    }
    const std::string_view cell = cell_of(mark);
    const auto actions = parse_cell(cell);
    if (!actions || actions->empty()) {
      problem(fmt::format("'{}' is no action of a pipeline", shortened(mark.name)),
              "an action is PP:3F5, PP:3SEND_F5, PP:3UNSHARD or their like");
      return;
    }
    KinetoEvent event{.start = mark.start, .end = mark.end};
    if (actions->front().word == "REDUCE_GRAD") {
      event.reduced_stage = actions->front().stage;
    } else {
      event.ops = ops_of(*actions, cell);
      if (event.ops.empty()) return;  // a message, or parameters gathered or dropped
    }
    follow(event, mark);
    steps.add(event);
  }

  StepMarks steps;

 private:
  std::vector<Op> ops_of(const std::vector<TorchAction>& actions, std::string_view cell) const {
    const std::string modern = old_grammar_ ? modern_cell(actions, cell) : std::string(cell);
    std::vector<Op> ops;
    const auto parsed = parse_cell(modern);
    for (const TorchAction& action : *parsed) {
      if (const auto kind = compute_kind(action.word)) {
        ops.push_back({*kind, action.stage, action.microbatch, 0});
      }
    }
    return ops;
  }

  void see_step(const Mark& mark) {
    std::string_view digits = std::string_view(mark.name).substr(kStepMark.size());
    if (const auto number = take_number(digits)) steps.mark(*number, mark.start, mark.end);
  }

  // Times in old traces are whole microseconds: neighbours may seem to overlap by one.
  void follow(KinetoEvent& event, const Mark& mark) {
    constexpr Nanoseconds kRounding = 1000;
    if (event.start < free_) {
      if (free_ - event.start > kRounding) {
        problem(fmt::format("{} starts {:.3f} us before {} ends", shortened(mark.name),
                            static_cast<double>(free_ - event.start) / 1000, shortened(latest_)),
                "the marks of a rank follow each other");
      }
      event.start = free_;
      event.end = std::max(event.end, event.start);
    }
    free_ = event.end;
    latest_ = mark.name;
  }

  void problem(std::string what, std::string hint) {
    if (problems_.size() < ProblemList::kMost) {
      problems_.push_back({rank_.where, std::move(what), std::move(hint)});
    }
  }

  KinetoRank& rank_;
  bool old_grammar_;
  std::vector<Problem>& problems_;
  Nanoseconds free_ = INT64_MIN;
  std::string latest_;
};

void require_kineto(const nlohmann::json& document, const std::string& where) {
  if (!document.is_object() || !document.contains("traceEvents")) {
    throw Error(where, "no trace of torch's profiler: it has no \"traceEvents\"", kHint);
  }
  if (document.contains("penstock")) {
    throw Error(where, "a trace of Penstock already", "report and compare take it as it is");
  }
}

bool has_devices(const nlohmann::json& document) {
  const auto devices = document.find("deviceProperties");
  return devices != document.end() && devices->is_array() && !devices->empty();
}

}  // namespace

KinetoRank read_kineto(std::string_view json, const std::string& where) {
  const nlohmann::json document = parse_marks(json, where);
  require_kineto(document, where);
  std::vector<Problem> problems;
  const JsonReader root(document, where, problems);
  KinetoRank rank{.where = where};
  if (root.has("distributedInfo") && root.at("distributedInfo").value().is_object()) {
    rank.rank = static_cast<std::int32_t>(
        root.at("distributedInfo").integer("rank", {.min = -1, .fallback = -1}));
  }
  const std::vector<Mark> marks = read_marks(root, problems);
  const std::vector<Mark> device = busiest_lane(marks, kDevice);
  std::vector<Mark> host = busiest_lane(marks, kHost);
  const bool on_device = !device.empty() && count_computes(device) >= count_computes(host);
  rank.host_times = !on_device && (!device.empty() || has_devices(document));
  Lane lane(rank, is_old_grammar(marks), problems);
  for (const Mark& mark : on_device ? device : host) lane.see(mark);
  // The host alone has a mark for every message.
  for (const Mark& mark : marks) {
    if (!mark.name.starts_with(kMark)) continue;
    if (const auto actions = parse_cell(cell_of(mark))) {
      rank.last_stage = std::max(rank.last_stage, highest_stage(*actions));
    }
  }
  if (problems.empty() && lane.steps.empty()) {
    problems.push_back({where, "it has no mark of an op, such as PP:0F0", kHint});
  }
  if (!problems.empty()) throw Error(problems);
  rank.steps = std::move(lane.steps).split();
  return rank;
}

}  // namespace penstock
