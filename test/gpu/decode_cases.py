#!/usr/bin/env python3
"""Language models that write one token after the other: each token's kernels have other sizes than the one's before, and one
iteration is a whole answer. By Hugging Face's generate(); or, "..._loop", by a loop that always goes to its end: generate() asks
the device whether it is done, and without kernels would be at once."""
import os

# Has to be set before CUDA starts.
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"

import torch  # noqa: E402

import case_runner  # noqa: E402

TOKENS = 64
CHECKED = 2  # answers that are hashed


class Decode:
    def __init__(self, model):
        torch.manual_seed(5)
        self.model = model.cuda().half().eval()
        self.prompt = torch.randint(0, 1000, (1, 16), device="cuda")
        self.answer = None

    def step(self):
        with torch.inference_mode():
            self.answer = self.model.generate(self.prompt, max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False,
                                              pad_token_id=0, eos_token_id=None)

    def check(self, digest):
        for number in range(CHECKED):
            self.prompt.add_(number)
            self.step()
            digest.add(self.answer.cpu().numpy())


class Loop(Decode):
    def step(self):
        tokens = []
        ids, cache = self.prompt, None
        with torch.inference_mode():
            for _ in range(TOKENS):
                made = self.model(ids, past_key_values=cache, use_cache=True)
                cache = made.past_key_values
                ids = made.logits[:, -1:].argmax(-1)
                tokens.append(ids)
                ids.item()  # somebody reads along
        self.answer = torch.cat(tokens, dim=1)


def gpt2(how=Decode):
    """124 million parameters, 12 layers."""
    import transformers
    torch.manual_seed(6)
    return how(transformers.GPT2LMHeadModel(transformers.GPT2Config()))


def llama(how=Decode):
    """16 layers with rotary positions and grouped queries."""
    import transformers
    torch.manual_seed(7)
    return how(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16, num_key_value_heads=4,
        vocab_size=32000)))


if __name__ == "__main__":
    case_runner.main(__doc__, {"gpt2": gpt2, "llama": llama, "gpt2_loop": lambda: gpt2(Loop), "llama_loop": lambda: llama(Loop)},
                     torch.cuda.synchronize)
