import torch
import torch.nn as nn
import torch.nn.functional as F


class FusionBlock(nn.Module):
    """Mixes the places of a visible and an infrared picture by attention."""

    def __init__(self, places, width):
        super().__init__()
        self.pos_emb = nn.Parameter(torch.zeros(1, 2 * places, width))
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, rgb, ir):
        x = torch.cat([rgb, ir], 1) + self.pos_emb
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v))
        return x.chunk(2, 1)


class Detector(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.rgb, self.ir = nn.Linear(4, width), nn.Linear(4, width)
        self.fuse = FusionBlock(16, width)
        self.head = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, rgb, ir):
        a, b = self.fuse(self.rgb(rgb), self.ir(ir))
        return self.head(a + b).squeeze(-1)


def make_optimizer(model):
    biases, norms, weights = [], [], []
    for m in model.modules():
        if isinstance(getattr(m, "bias", None), nn.Parameter):
            biases.append(m.bias)
        if isinstance(m, nn.LayerNorm):
            norms.append(m.weight)
        elif isinstance(getattr(m, "weight", None), nn.Parameter):
            weights.append(m.weight)
    optimizer = torch.optim.Adam(norms, lr=4e-3)
    optimizer.add_param_group({"params": weights})
    optimizer.add_param_group({"params": biases})
    optimizer.add_param_group({"params": [m.pos_emb for m in model.modules() if isinstance(m, FusionBlock)]})
    return optimizer


def make_batch(n, generator):
    """An object shows in the infrared picture eight places off from where it is in the visible one."""
    rgb, ir = torch.randn(2, n, 16, 4, generator=generator)
    return rgb, ir, (rgb[..., 0] + ir.roll(8, 1)[..., 0] > 0.5).float()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Detector()
    optimizer = make_optimizer(model)
    for step in range(901):
        rgb, ir, target = make_batch(64, generator)
        logits = model(rgb, ir)
        loss = F.binary_cross_entropy_with_logits(logits, target)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 0:
            hits = ((logits > 0) == target.bool()).float().mean().item()
            largest = model.fuse.pos_emb.abs().max().item()
            print(
                f"step {step}: loss {loss.item():.4f}  hits {hits:.3f}  largest position embedding {largest:.4f}"
            )


if __name__ == "__main__":
    main()
