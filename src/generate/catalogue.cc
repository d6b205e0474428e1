#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "members.h"
#include "option.h"
#include "penstock/error.h"
#include "penstock/nearest.h"
#include "slices.h"

namespace penstock {
namespace {

// A new schedule is one file beside this one and one row here.
constexpr Generator kGenerators[] = {
    {"gpipe", "all forwards, then all backwards", "ScheduleGPipe", "", &gpipe},
    {"1f1b", "one forward, one backward: few activations in flight", "Schedule1F1B", "",
     &one_f_one_b},
    {"eager_1f1b", "1f1b with twice the warm-up: hides communication", "", "", &eager_1f1b},
    {"interleaved_1f1b", "several stages per actor, a smaller bubble", "ScheduleInterleaved1F1B",
     "variant group moe_overlap", &interleaved_1f1b},
    {"looped_bfs", "several stages per actor, each running all microbatches", "ScheduleLoopedBFS",
     "fsdp", &looped_bfs},
    {"zb_h1", "1f1b with weight gradients put off: a third of the bubble", "", "", &zb_h1},
    {"zb_h2", "zb_h1 with twice the activations: no bubble between ops", "", "", &zb_h2},
    {"zb_1p", "searched for given costs, memory as 1f1b", "", "memory weight_share", &zb_1p, true},
    {"zb_2p", "searched for given costs, twice the memory", "", "memory weight_share", &zb_2p,
     true},
    {"interleaved_zb1p", "zb_h1 with several stages per actor", "ScheduleInterleavedZeroBubble", "",
     &interleaved_zb1p},
    {"zb_v", "two stages per actor in a V: memory as even as zb_h1", "ScheduleZBVZeroBubble",
     "variant", &zb_v},
    {"v_half", "zb_v with half the activations and half the bubble of 1f1b", "", "", &v_half},
    {"v_min", "zb_v with a third of the activations", "", "", &v_min},
    {"1f1b_v", "1f1b in a V: two thirds of the activations", "", "", &one_f_one_b_v},
    {"dualpipe", "fed from both ends, forwards overlap backwards", "", "fused", &dualpipe},
    {"dualpipev", "dualpipe folded into a V, weights held once", "ScheduleDualPipeV",
     "variant fused", &dualpipev},
    {"chimera", "1f1b both ways at once: half the bubble, two copies", "", "pipes", &chimera},
    {"bitpipe", "two Vs in opposite directions, four chunks per actor", "", "variant", &bitpipe},
    {"hanayo", "waves down the actors and back up, one copy of the weights", "", "", &hanayo},
    {"deepspeed_1f1b", "1f1b by DeepSpeed's numbered steps", "", "", &deepspeed_1f1b},
    {"seq1f1b", "1f1b over slices of the sequence: few tokens in flight", "", "tokens", &seq1f1b},
    {"terapipe", "gpipe over slices of the sequence", "", "tokens", &terapipe},
    {"forward_only", "inference: forwards alone", "", "", &forward_only},
    {"local", "losses inside the model: gradients stay in windows of stages", "",
     "variant window stride combine aux capacity update_every", &local},
    {"pipedream_2bw", "asynchronous: no flush between steps, two weight versions", "", "steps",
     &pipedream_2bw},
};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool is_called(const Generator& generator, std::string_view name) {
  constexpr std::string_view kPrefix = "Schedule";
  const std::string_view synonym = generator.synonym;
  return equal_ignoring_case(name, generator.name) ||
         (!synonym.empty() && (equal_ignoring_case(name, synonym) ||
                               equal_ignoring_case(name, synonym.substr(kPrefix.size()))));
}

Error unknown(std::string_view name) {
  return {"schedule", fmt::format("no schedule is called '{}'", name),
          did_you_mean(name, kGenerators, &Generator::name)};
}

void check_costs(const Generator& generator, const GenerateOptions& options,
                 std::vector<Problem>& problems) {
  if (!generator.needs_costs || options.costs) return;
  problems.push_back(
      {"costs", fmt::format("{} is made for given costs, and there are none", generator.name),
       "say what the ops take: --costs F=1,I=1,W=1,latency=0.1 or --costs-file FILE"});
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

bool takes(const Generator& generator, std::string_view option) {
  const std::vector<std::string_view> known = words(generator.options);
  return std::find(known.begin(), known.end(), option) != known.end();
}

// How many steps the schedule unrolls.
std::int32_t steps_of(const Generator& generator, const GenerateOptions& options) {
  std::vector<Problem> reported_by_the_generator;
  return takes(generator, "steps") ? number_option(options, "steps", 1, reported_by_the_generator)
                                   : 1;
}

void check_sizes(const Generator& generator, const GenerateOptions& options,
                 std::vector<Problem>& problems) {
  const bool slices = takes(generator, "tokens");  // who is told how long they are makes some
  const std::pair<const char*, std::int32_t> sizes[] = {
      {"actors", options.actors},
      {"chunks", options.chunks},
      {"microbatches", options.microbatches},
      {"slices", slices ? slice_count(options) : options.slices}};
  double ops = 2.0 * steps_of(generator, options);  // a forward and a backward
  for (const auto& [what, size] : sizes) {
    ops *= size;
    if (size < 1) problems.push_back({what, fmt::format("{} is below 1", size), "at least 1"});
  }
  if (options.actors > kMostActors) {
    problems.push_back({"actors", fmt::format("{} actors are more than supported", options.actors),
                        fmt::format("at most {}", kMostActors)});
  }
  constexpr double kMostOps = 50e6;
  if (problems.empty() && ops > kMostOps) {
    problems.push_back(
        {"schedule",
         fmt::format("{} actors, {} chunks, {} microbatches and {} slices make more "
                     "than 50 million ops",
                     options.actors, options.chunks, options.microbatches, sizes[3].second),
         "ask for fewer microbatches"});
  }
  if (options.slices > 1 && !slices) {
    problems.push_back({"slices", fmt::format("{} does not slice microbatches", generator.name),
                        "leave out slices"});
  }
}

void check_keys(const Generator& generator, const GenerateOptions& options,
                std::vector<Problem>& problems) {
  const std::vector<std::string_view> known = words(generator.options);
  for (const auto& [key, value] : options.option) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    problems.push_back({fmt::format("option {}", key),
                        fmt::format("{} has no such option", generator.name),
                        known.empty() ? "it takes none" : did_you_mean(key, known)});
  }
}

}  // namespace

std::span<const Generator> generators() {
  return kGenerators;
}

const Generator* find_generator(std::string_view name) {
  const auto found = std::find_if(std::begin(kGenerators), std::end(kGenerators),
                                  [&](const Generator& one) { return is_called(one, name); });
  return found == std::end(kGenerators) ? nullptr : found;
}

Schedule generate(std::string_view name, const GenerateOptions& options) {
  const Generator* found = find_generator(name);
  if (found == nullptr) throw unknown(name);
  const Generator& generator = *found;
  std::vector<Problem> problems;
  check_sizes(generator, options, problems);
  check_keys(generator, options, problems);
  if (problems.empty()) check_costs(generator, options, problems);
  if (!problems.empty()) throw Error(std::move(problems));
  return generator.generate(options);
}

}  // namespace penstock
