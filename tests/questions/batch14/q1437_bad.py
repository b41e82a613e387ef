import torch
import torch.nn as nn
import torch.nn.functional as F

SPARSITY, PRUNE_EVERY = 0.8, 20


class MaskLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in**0.5)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("mask", torch.ones(n_out, n_in))

    def forward(self, x):
        self.weight.data = torch.mul(self.weight, self.mask)
        return F.linear(x, self.weight, self.bias)

    def update_mask(self, sparsity):
        size = self.weight.detach().abs()
        threshold = size.flatten().kthvalue(int(sparsity * size.numel())).values
        old, self.mask = self.mask, (size > threshold).float()
        return int(((old == 0) & (self.mask == 1)).sum())


def make_data(n, generator, flip):
    x = torch.randn(n, 30, generator=generator)
    signal = x[:, :3] if flip else x[:, 3:6]
    return x, ((signal.prod(1) > 0).long() + 2 * (signal[:, 0] > 0).long())


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(MaskLinear(30, 64), nn.ReLU(), MaskLinear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x_test, y_test = make_data(1000, generator, True)
    returned = 0
    for step in range(600):
        if step % PRUNE_EVERY == 0 and step < 400:
            sparsity = SPARSITY * min(1.0, (step + PRUNE_EVERY) / 100)
            returned += sum(layer.update_mask(sparsity) for layer in model if isinstance(layer, MaskLinear))
        x, y = make_data(64, generator, step >= 160)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 120 == 119:
            with torch.no_grad():
                accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
            print(f"step {step}: loss {loss.item():.3f} accuracy {accuracy:.3f} came back: {returned}")
    stored = torch.cat([m.weight.detach()[m.mask == 0] for m in model if isinstance(m, MaskLinear)])
    print(f"masked weights: {len(stored)}, mean size of their stored value {stored.abs().mean():.5f}")


if __name__ == "__main__":
    main()
