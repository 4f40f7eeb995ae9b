"""A training loop that names its parts with PyTorch's own ranges (NVTX), and prints what it computed."""
import ctypes
import hashlib
import sys
import time

import torch


def main():
    steps = int(sys.argv[1])
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(32, 64, device="cuda")
    nvtx = torch.cuda.nvtx
    for _ in range(steps):
        nvtx.range_push("step")
        optimizer.zero_grad(set_to_none=False)
        with nvtx.range("forward"):
            loss = model(data).square().mean()
        with nvtx.range("backward"):
            loss.backward()
        optimizer.step()
        nvtx.range_pop()
    torch.cuda.synchronize()
    digest = hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())).hexdigest()
    print(f"weights {digest}")
    begin = time.perf_counter()
    for _ in range(10_000):
        nvtx.range_push("empty")
        nvtx.range_pop()
    print(f"elapsed {(time.perf_counter() - begin) / 10_000 * 1e6:.3f} us for a range", file=sys.stderr)
    # Stopped and started from Python, as docs/control.md says.
    for name in ("refrain_stop", "refrain_start"):
        if hasattr(ctypes.CDLL(None), name):
            getattr(ctypes.CDLL(None), name)()


if __name__ == "__main__":
    main()
