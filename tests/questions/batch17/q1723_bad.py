import torch


def forward(w_h, w_y, h0):
    h1_raw = w_h * h0
    h1 = torch.tanh(h1_raw)
    h2_raw = w_h * h1
    h2 = torch.tanh(h2_raw)
    return w_y * h2, (h1_raw, h1, h2_raw, h2)


def backward(dy2, w_h, w_y, h0, cache):
    h1_raw, h1, h2_raw, h2 = cache
    dw_y = (h2 * dy2).sum()
    dh2 = w_y * dy2
    dh2_raw = (1 - h2_raw**2) * dh2
    dh1 = w_h * dh2_raw
    dh1_raw = (1 - h1_raw**2) * dh1
    dw_h = (h1 * dh2_raw + h0 * dh1_raw).sum()
    return dw_h, dw_y


def by_autograd(w_h, w_y, h0, target):
    w_h, w_y = w_h.clone().requires_grad_(), w_y.clone().requires_grad_()
    loss = (forward(w_h, w_y, h0)[0] - target).pow(2).mean()
    return torch.autograd.grad(loss, (w_h, w_y))


def main():
    torch.manual_seed(0)
    h0 = torch.randn(200)
    target = forward(torch.tensor(2.0), torch.tensor(4.0), h0)[0] + 0.05 * torch.randn(200)
    w_h, w_y = torch.tensor(1.2), torch.tensor(3.0)
    learning_rate = 0.02
    for step in range(401):
        y2, cache = forward(w_h, w_y, h0)
        loss = (y2 - target).pow(2).mean()
        dy2 = 2 * (y2 - target) / len(h0)
        dw_h, dw_y = backward(dy2, w_h, w_y, h0, cache)
        if step % 100 == 0:
            auto_h, auto_y = by_autograd(w_h, w_y, h0, target)
            print(f"step {step:3d}: loss {loss.item():8.4f}, w_h {w_h.item():7.4f}, w_y {w_y.item():7.4f}")
            print(f"   dw_h by hand {dw_h.item():9.4f}, autograd {auto_h.item():9.4f}", end="")
            print(f"; dw_y by hand {dw_y.item():9.4f}, autograd {auto_y.item():9.4f}")
        w_h = w_h - learning_rate * dw_h
        w_y = w_y - learning_rate * dw_y
    print(f"true values: w_h 2.0, w_y 4.0; found: w_h {w_h.item():.3f}, w_y {w_y.item():.3f}")


if __name__ == "__main__":
    main()
