#!/usr/bin/env python3
"""Language models that write one token after the other, by Hugging Face's generate(): each token's kernels have other sizes than
the one's before, and one iteration is a whole answer."""
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


def gpt2():
    """124 million parameters, 12 layers."""
    import transformers
    torch.manual_seed(6)
    return Decode(transformers.GPT2LMHeadModel(transformers.GPT2Config()))


def llama():
    """16 layers with rotary positions and grouped queries."""
    import transformers
    torch.manual_seed(7)
    return Decode(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16, num_key_value_heads=4,
        vocab_size=32000)))


if __name__ == "__main__":
    case_runner.main(__doc__, {"gpt2": gpt2, "llama": llama}, torch.cuda.synchronize)
