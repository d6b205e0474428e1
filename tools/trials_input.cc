#include "trials_input.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "penstock/error.h"
#include "penstock/number_text.h"
#include "schedule_input.h"
#include "words.h"

namespace penstock {
namespace {

void set(GenerateOptions& options, std::string_view piece) {
  const auto setting = key_value(piece);
  if (!setting) {
    throw UsageError(fmt::format("--schedule: '{}' is not key=value, as chunks=2", piece));
  }
  const auto& [key, value] = *setting;
  const bool is_size = key == "chunks" || key == "slices";
  if (!is_size) {
    options.option[std::string(key)] = value;
    return;
  }
  const auto number = parse_number<std::int32_t>(value);
  if (!number)
    throw UsageError(fmt::format("--schedule: {} takes a whole number, not '{}'", key, value));
  (key == "chunks" ? options.chunks : options.slices) = *number;
}

// "8" or "4:64" or "4:64:4".
void append_counts(std::string_view piece, std::vector<std::int32_t>& counts) {
  std::vector<std::int32_t> numbers;
  for (const std::string_view text : split(piece, ':')) {
    const auto number = parse_number<std::int32_t>(text);
    if (!number || *number < 1 || *number > 1'000'000) {
      throw UsageError(fmt::format("--sweep: '{}' is no number of microbatches", text));
    }
    numbers.push_back(*number);
  }
  if (numbers.size() > 3) throw UsageError("--sweep takes FROM:TO or FROM:TO:STEP");
  const std::int32_t last = numbers.size() > 1 ? numbers[1] : numbers[0];
  if (last < numbers[0]) throw UsageError(fmt::format("--sweep: {} counts down", piece));
  for (std::int64_t count = numbers[0]; count <= last;) {
    counts.push_back(static_cast<std::int32_t>(count));
    count = numbers.size() == 3 ? count + numbers[2] : 2 * count;
  }
}

// `refusal` becomes the problems of the size that it refuses.
Trial run_trial(const ScheduleRequest& request,
                const std::function<const Timeline&(const ScheduleRequest&)>& simulate,
                std::vector<Problem>& refusal) {
  try {
    const Timeline& timeline = simulate(request);
    // A generator without a flush gives several steps of so many microbatches.
    const bool generated = find_generator(request.name) != nullptr;
    return trial_of(timeline, generated ? timeline.microbatches / request.options.microbatches : 1);
  } catch (const RunError&) {
    throw;
  } catch (const Error& error) {
    refusal = error.problems();
    const Problem& first = refusal.front();
    return {.refused = first.where.empty() ? first.what : first.where + ": " + first.what};
  }
}

}  // namespace

std::vector<ScheduleRequest> schedule_requests(const Arguments& arguments) {
  std::vector<ScheduleRequest> requests;
  for (const std::string_view entry : split(arguments.text("schedule"), ',')) {
    if (entry.empty()) throw UsageError("--schedule names no schedule between two commas");
    const std::vector<std::string_view> pieces = split(entry, ':');
    if (pieces.front().find('=') != std::string::npos) {
      throw UsageError(fmt::format(
          "--schedule: '{}' is no name; options stand behind the name, each after a ':'",
          pieces.front()));
    }
    ScheduleRequest request{std::string(entry), std::string(pieces.front()),
                            generate_options(arguments)};
    for (std::size_t i = 1; i < pieces.size(); ++i) set(request.options, pieces[i]);
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<std::int32_t> microbatch_counts(const Arguments& arguments) {
  if (!arguments.has("sweep")) return {arguments.integer_or("microbatches", 1)};
  if (arguments.has("microbatches")) {
    throw UsageError("--sweep and --microbatches exclude each other");
  }
  std::vector<std::int32_t> counts;
  for (const std::string_view piece : split(arguments.text("sweep"), ','))
    append_counts(piece, counts);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  constexpr std::size_t kMost = 1000;
  if (counts.size() > kMost) throw UsageError(fmt::format("--sweep: more than {} sizes", kMost));
  return counts;
}

TrialRuns run_trials(const std::vector<ScheduleRequest>& requests,
                     const std::vector<std::int32_t>& counts,
                     const std::function<const Timeline&(const ScheduleRequest&)>& simulate) {
  Trials trials{.microbatches = counts};
  trials.results.assign(counts.size(), std::vector<Trial>(requests.size()));
  std::vector<Problem> problems;
  bool any = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    trials.schedules.push_back(requests[i].label);
    ScheduleRequest request = requests[i];
    std::vector<Problem> refusal;
    bool ran = false;
    for (std::size_t m = 0; m < counts.size(); ++m) {
      request.options.microbatches = counts[m];
      Trial& trial = trials.results[m][i];
      trial = run_trial(request, simulate, refusal);
      ran |= trial.refused.empty();
    }
    any |= ran;
    if (ran) continue;
    for (Problem& problem : refusal) {
      if (requests.size() > 1) problem.where = requests[i].label + ": " + problem.where;
      problems.push_back(std::move(problem));
    }
  }
  if (!any) throw Error(std::move(problems));
  return {std::move(trials), std::move(problems)};
}

}  // namespace penstock
