import math

import torch
from torch import nn


class MADE(nn.Module):
    def __init__(self, num_inputs, num_hidden):
        super().__init__()
        order = torch.arange(1, num_inputs + 1)
        hidden = torch.arange(num_hidden) % (num_inputs - 1) + 1
        self.register_buffer("mask_in", (hidden[:, None] >= order[None]).float())
        self.register_buffer("mask_hidden", (hidden[:, None] >= hidden[None]).float())
        self.register_buffer("mask_out", (order[:, None] > hidden[None]).float().repeat(2, 1))
        self.joiner = nn.Linear(num_inputs, num_hidden)
        self.middle = nn.Linear(num_hidden, num_hidden)
        self.out = nn.Linear(num_hidden, 2 * num_inputs)

    def net(self, x):
        x = torch.tanh(nn.functional.linear(x, self.joiner.weight * self.mask_in, self.joiner.bias))
        x = torch.tanh(nn.functional.linear(x, self.middle.weight * self.mask_hidden, self.middle.bias))
        m, a = nn.functional.linear(x, self.out.weight * self.mask_out, self.out.bias).chunk(2, 1)
        return m, 2 * torch.tanh(a / 2)

    def forward(self, inputs, mode="direct"):
        if mode == "direct":
            m, a = self.net(inputs)
            u = (inputs - m) * torch.exp(-a)
            return u, -a.sum(-1, keepdim=True)
        x = torch.zeros_like(inputs)
        for i_col in range(inputs.shape[1]):
            m, a = self.net(x)
            column = inputs[:, i_col] * torch.exp(a[:, i_col]) + m[:, i_col]
            x = torch.cat([x[:, :i_col], column[:, None], x[:, i_col + 1 :]], 1)
        return x, -a.sum(-1, keepdim=True)


def log_normal(u):
    return (-0.5 * u.pow(2) - 0.5 * math.log(2 * math.pi)).sum(-1, keepdim=True)


def log_target(x):
    first = -0.5 * (x[:, :1] / 2.0).pow(2) - math.log(2.0)
    second = -0.5 * ((x[:, 1:] - 0.25 * x[:, :1].pow(2)) / 0.5).pow(2) - math.log(0.5)
    return first + second - math.log(2 * math.pi)


def main():
    torch.manual_seed(0)
    flow = MADE(2, 32)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    for step in range(400):
        u = torch.randn(256, 2)
        x, logdet = flow(u, mode="inverse")
        log_q = log_normal(u) - logdet
        loss = (log_q - log_target(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 79:
            with torch.no_grad():
                sample, _ = flow(torch.randn(4000, 2), mode="inverse")
                noise, direct = flow(sample)
                kl = (log_normal(noise) + direct - log_target(sample)).mean().item()
            rest = sample[:, 1] - 0.25 * sample[:, 0].pow(2)
            print(
                f"step {step + 1}: loss {loss.item():8.4f}  KL by the direct pass {kl:.4f}"
                f"  std of x1 {sample[:, 0].std():.3f} (2.0)  std of x2 given x1 {rest.std():.3f} (0.5)"
            )


if __name__ == "__main__":
    main()
