import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + 2 * (x @ self.lora_a.T @ self.lora_b.T)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Classifier(nn.Module):
    def __init__(self, words=40, width=48, layers=3, classes=4):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = nn.Linear(width, classes)
        self.checkpointing = False

    def add_adapters(self):
        self.requires_grad_(False)
        for layer in self.layers:
            layer.up, layer.down = LoRALinear(layer.up), LoRALinear(layer.down)
        self.head.requires_grad_(True)

    def forward(self, tokens):
        x = self.embed(tokens).mean(1)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True) if self.checkpointing else layer(x)
        return self.head(x)


def make_batch(n, generator):
    """The class is told by two groups of words together."""
    tokens = torch.randint(0, 40, (n, 6), generator=generator)
    many = ((tokens < 20).sum(1) > 3).long()
    odd = ((tokens % 4 == 1).sum(1) > 1).long()
    return tokens, (many ^ odd) + 2 * odd


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Classifier()
    model.add_adapters()
    model.checkpointing = True
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    for step in range(301):
        tokens, labels = make_batch(128, generator)
        out = model(tokens)
        loss = F.cross_entropy(out, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            size = sum(layer.up.lora_b.norm().item() for layer in model.layers)
            right = (out.argmax(1) == labels).float().mean().item()
            print(
                f"step {step}: loss {loss.item():.4f}  accuracy {right:.3f}  size of the adapters {size:.4f}"
            )


if __name__ == "__main__":
    main()
