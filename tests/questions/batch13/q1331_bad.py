import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH = 8


class CausalSelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("bias", torch.ones(LENGTH, LENGTH).tril().bool())
        self.register_buffer("masked_bias", torch.tensor(-1e4))

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = q @ k.transpose(1, 2) / self.width**0.5
        weights = torch.where(self.bias[:n, :n], weights, self.masked_bias)
        return self.proj(weights.softmax(-1) @ v)


class Model(nn.Module):
    """Says the next state of a player from the states up to now."""

    def __init__(self, width=64):
        super().__init__()
        self.state = nn.Linear(2, width)
        self.position = nn.Embedding(LENGTH, width)
        self.attend = CausalSelfAttention(width)
        self.head = nn.Linear(width, 2)

    def forward(self, states):
        x = self.state(states) + self.position.weight[: states.shape[1]]
        return self.head(x + self.attend(x))


def make_batch(n, generator):
    """Where the player stands, in the map's own units; it runs to a new place each time, a bit towards the last."""
    noise = torch.randn(n, LENGTH + 1, 2, generator=generator)
    place = noise.clone()
    for t in range(1, LENGTH + 1):
        place[:, t] = 0.4 * place[:, t - 1] + noise[:, t]
    states = 900 + 150 * place
    return states[:, :-1], states[:, 1:]


def error(out, target):
    return F.mse_loss(out, target).item() / 150**2


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    t = LENGTH - 1
    for step in range(401):
        states, target = make_batch(64, generator)
        loss = F.mse_loss(model(states), target) / 150**2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                whole = error(model(states)[:, t - 1], target[:, t - 1])
                cut = error(model(states[:, :t])[:, -1], target[:, t - 1])
            print(
                f"step {step}: loss {loss.item():.3f}  place {t} of whole runs {whole:.3f}, of runs cut there {cut:.3f}"
            )


if __name__ == "__main__":
    main()
