import torch
import torch.nn as nn
import torch.nn.functional as F

N_COLORS, CELLS = 6, 9
MASK = N_COLORS
NUM_CONTEXT = 1 + CELLS


class GridTransformer(nn.Module):
    def __init__(self, width=48, heads=4):
        super().__init__()
        self.num_context_tokens = NUM_CONTEXT
        self.embedding = nn.Embedding(N_COLORS + 1, width)
        self.position = nn.Parameter(torch.randn(NUM_CONTEXT + CELLS, width) * 0.3)
        layer = nn.TransformerEncoderLayer(width, heads, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.to_color = nn.Linear(width, N_COLORS)

    def forward(self, src):
        hidden = self.encoder(self.embedding(src) + self.position)
        return self.to_color(hidden[:, self.num_context_tokens :])


def make_tasks(n, generator):
    """Rule token, input grid, output grid: the output is the mirrored input with the rule's colour shift."""
    grid = torch.randint(0, N_COLORS, (n, 3, 3), generator=generator)
    rule = torch.randint(0, 2, (n, 1), generator=generator)
    answer = (grid.flip(2).flatten(1) + rule) % N_COLORS
    return torch.cat([rule, grid.flatten(1), answer], dim=1)


def hide_answer(src):
    hidden = src.clone()
    hidden[:, NUM_CONTEXT:] = MASK
    return hidden


def solve(model, tasks):
    with torch.no_grad():
        guess = model(hide_answer(tasks)).argmax(-1)
    right = guess == tasks[:, NUM_CONTEXT:]
    return right.float().mean().item(), right.all(dim=1).float().mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = GridTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    held_out = make_tasks(300, generator)
    for step in range(200):
        src = make_tasks(48, generator)
        output = model(src)
        target = src[:, model.num_context_tokens :].reshape(-1)
        loss = F.cross_entropy(output.reshape(-1, N_COLORS), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            cells, grids = solve(model, held_out)
            print(f"step {step}: loss {loss.item():.4f}, new tasks: cells {cells:.3f} grids {grids:.3f}")


if __name__ == "__main__":
    main()
