#include "penstock/parallel.h"

#include <fmt/format.h>

namespace penstock {
namespace {

class Divisions {
 public:
  explicit Divisions(const std::string& where) : where_(where) {}

  void require(std::int64_t size, std::string_view what, std::int64_t degree,
               std::string_view key) {
    if (size % degree == 0) return;
    problems.push_back({fmt::format("{}/{}", where_, key),
                        fmt::format("{} {} do not divide by {}", size, what, degree),
                        fmt::format("a divisor of {}", size)});
  }

  std::vector<Problem> problems;

 private:
  const std::string& where_;
};

}  // namespace

std::vector<Problem> check_parallel(const Parallel& parallel, const Model& model,
                                    std::int64_t sequence, const std::string& where) {
  Divisions divisions(where);
  const std::int32_t tensor = parallel.tensor;
  divisions.require(model.heads, "heads", tensor, "tensor");
  if (model.kv_heads > tensor) {
    divisions.require(model.kv_heads, "key-value heads", tensor, "tensor");
  }
  divisions.require(model.ffn, "columns of the MLP", tensor, "tensor");
  divisions.require(sequence, "tokens of a sequence", parallel.context, "context");
  if (parallel.sequence) {
    divisions.require(sequence, "tokens of a sequence", std::int64_t{parallel.context} * tensor,
                      "tensor");
  }
  if (model.experts) {
    const std::int32_t expert_tensor = parallel.tensor_of_experts();
    divisions.require(model.experts->experts, "experts", parallel.expert, "expert");
    divisions.require(model.experts->ffn, "columns of an expert", expert_tensor, "expert_tensor");
    divisions.require(parallel.replicas() * tensor, "devices of a stage",
                      std::int64_t{parallel.expert} * expert_tensor, "expert");
  } else if (parallel.expert > 1) {
    divisions.problems.push_back({where + "/expert", "the model has no experts", "leave it out"});
  }
  return std::move(divisions.problems);
}

}  // namespace penstock
