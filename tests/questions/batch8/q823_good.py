import math

import torch


def radians(degrees):
    return degrees * math.pi / 180


def main():
    for angle in (10.0, 30.0, 60.0):
        y = torch.tensor([angle], dtype=torch.float32, requires_grad=True)
        w = radians(y)
        w.retain_grad()
        f = torch.sin(w)
        f.backward()
        print(
            f"at {angle} degrees: sin {f.item():.4f}, derivative by the radians {w.grad}, expected {math.cos(w.item()):.4f}"
        )


if __name__ == "__main__":
    main()
