"""Writes hf_reference.json: loss and gradients of tiny models as Hugging Face transformers and
PyTorch compute them, in double. Needs torch and transformers:

    python3 hf_reference.py > hf_reference.json

Weights are a formula (weight() below), so that the file stays small: element i of the tensor with
number k in the order of Penstock's model_tensors(). tests/model/reference_test.cc fills the same.
"""

import json

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

SEQUENCES, TOKENS = 2, 6


def weight(k, i):
    mixed = (i * 2654435761 + k * 40503 + 12345) % 2**32
    mixed = (mixed ^ (mixed >> 15)) * 2246822519 % 2**32
    return (mixed / 2**32 - 0.5) * 0.8


def canonical(names, family):
    """Penstock's order: embeddings, then layers in order of the forward pass, then the rest."""
    inside = {
        "gpt2": ["ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"],
        "llama": ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                  "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
                  "mlp.down_proj"],
    }[family]

    def key(name):
        parts = name.split(".")
        kind = parts[-1] == "bias"
        if "wte" in parts or "embed_tokens" in parts:
            return (0, 0, 0, kind)
        if "wpe" in parts:
            return (0, 1, 0, kind)
        if parts[1] in ("h", "layers"):
            return (1, int(parts[2]), inside.index(".".join(parts[3:-1])), kind)
        return (2, 1 if parts[0] == "lm_head" else 0, 0, kind)

    return sorted(names, key=key)


def reference(name, config, model):
    model = model.double().eval()
    family = config.model_type
    named = dict(model.named_parameters())
    names = canonical(named, family)
    with torch.no_grad():
        for k, tensor in enumerate(names):
            parameter = named[tensor]
            flat = torch.tensor([weight(k, i) for i in range(parameter.numel())],
                                dtype=torch.float64)
            if parameter.ndim == 1 and tensor.endswith("weight"):
                flat += 1
            parameter.copy_(flat.reshape(parameter.shape))
    vocabulary = config.vocab_size
    rows = SEQUENCES * TOKENS
    ids = torch.tensor([(i * 7 + 3) % vocabulary for i in range(rows)]).reshape(SEQUENCES, TOKENS)
    targets = torch.tensor([(i * 5 + 11) % vocabulary for i in range(rows)])
    logits = model(ids).logits.reshape(rows, vocabulary)
    loss = torch.nn.functional.cross_entropy(logits, targets)
    loss.backward()
    tensors = []
    for tensor in names:
        gradient = named[tensor].grad.reshape(-1)
        step = max(1, gradient.numel() // 5)
        samples = {str(i): gradient[i].item() for i in range(0, gradient.numel(), step)}
        tensors.append({"name": tensor, "shape": list(named[tensor].shape),
                        "gradient_norm": gradient.norm().item(), "gradient": samples})
    wanted = ("model_type vocab_size n_embd n_layer n_head n_inner n_positions activation_function "
              "hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim "
              "intermediate_size max_position_embeddings hidden_act rms_norm_eps "
              "tie_word_embeddings").split()
    shown = {key: getattr(config, key) for key in wanted if hasattr(config, key)}
    if family == "llama":
        shown["rope_theta"] = 10000.0
        shown = {key: value for key, value in shown.items() if not key.startswith("n_")}
    else:
        shown = {key: value for key, value in shown.items()
                 if not key.startswith(("num_", "hidden_size", "max_", "head_dim"))}
    return {"name": name, "config": shown, "sequences": SEQUENCES, "tokens": TOKENS,
            "loss": loss.item(), "tensors": tensors}


def gpt2(**changes):
    return GPT2Config(vocab_size=19, n_embd=12, n_layer=2, n_head=3, n_inner=20, n_positions=8,
                      attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, **changes)


def llama(**changes):
    sizes = dict(vocab_size=19, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, intermediate_size=20, max_position_embeddings=8)
    return LlamaConfig(**(sizes | changes))


def main():
    torch.set_default_dtype(torch.float64)
    cases = [("gpt2", gpt2()), ("gpt2_erf", gpt2(activation_function="gelu")),
             ("llama", llama()), ("llama_tied", llama(tie_word_embeddings=True)),
             ("llama_wide_heads", llama(num_key_value_heads=1, head_dim=6))]
    made = [reference(name, config,
                      (GPT2LMHeadModel if config.model_type == "gpt2" else LlamaForCausalLM)(config))
            for name, config in cases]
    source = (f"transformers {transformers.__version__}, "
              f"torch {torch.__version__.split('+')[0]}, float64")
    text = json.dumps({"source": source, "cases": made}, separators=(",", ":"))
    print(text.replace('{"name"', '\n{"name"'))


main()
