import torch
import torch.nn as nn
import torch.nn.functional as F


class AxisBlock(nn.Module):
    """Attention along the rows of a feature map."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, src):
        b, c, h, w = src.shape
        rows = src.permute(0, 2, 3, 1).reshape(b * h, w, c)
        seen = self.norm(rows)
        rows = rows + self.attend(seen, seen, seen, need_weights=False)[0]
        rows = rows + self.mlp(rows)
        return rows.view(b, h, w, c).permute(0, 3, 1, 2)


class Matting(nn.Module):
    """Says how much of each pixel is in the front."""

    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 1)
        self.place = nn.Parameter(0.1 * torch.randn(1, width, 1, 12))
        self.blocks = nn.Sequential(AxisBlock(width), AxisBlock(width))
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, image):
        return self.head(self.blocks(self.stem(image) + self.place))


def make_batch(n, generator, h=6, w=12):
    """In each row one pixel is marked; what is in the front has a colour like the marked pixel's."""
    colour = torch.randn(n, 2, h, w, generator=generator)
    marked = torch.randint(0, w, (n, 1, h, 1), generator=generator)
    wanted = colour.gather(3, marked.expand(n, 2, h, 1))
    alpha = torch.sigmoid(3 * (colour * wanted).sum(1, keepdim=True))
    flag = torch.zeros(n, 1, h, w).scatter_(3, marked, 1.0)
    return torch.cat([colour, flag], 1), alpha


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Matting()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(201):
        image, alpha = make_batch(8, generator)
        loss = F.l1_loss(model(image).sigmoid(), alpha)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: mean absolute error {loss.item():.4f}")


if __name__ == "__main__":
    main()
