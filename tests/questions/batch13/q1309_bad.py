import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dense = nn.Linear(width, 2 * width)
        self.output = nn.Linear(2 * width, width)
        self.LayerNorm = nn.LayerNorm(width)

    def forward(self, x):
        return self.LayerNorm(x + self.output(F.gelu(self.dense(x))))


class Encoder(nn.Module):
    def __init__(self, inputs=10, width=32, classes=4):
        super().__init__()
        self.embed = nn.Linear(inputs, width)
        self.layer = nn.ModuleList(Block(width) for _ in range(3))
        self.classifier = nn.Linear(width, classes)

    def forward(self, x):
        x = self.embed(x)
        for block in self.layer:
            x = block(x)
        return self.classifier(x)


def make_optimizer(network):
    no_decay = ["bias", "gamma", "beta", "LayerNorm.bias", "LayerNorm.weight"]
    groups = [
        {"params": [p for n, p in network.named_parameters() if n not in no_decay], "weight_decay": 0.5},
        {"params": [p for n, p in network.named_parameters() if n in no_decay], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=3e-3)


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    y = 2 * (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] + x[:, 3] > 0.5).long()
    return x, y


def main():
    torch.manual_seed(0)
    x, y = make_data(1000, 0)
    network = Encoder()
    optimizer = make_optimizer(network)
    sizes = [sum(p.numel() for p in group["params"]) for group in optimizer.param_groups]
    print(f"numbers with decay {sizes[0]}, without {sizes[1]}")
    for epoch in range(25):
        for rows in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(network(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 6 == 0:
            norms = " ".join(f"{block.LayerNorm.weight.mean().item():.3f}" for block in network.layer)
            print(f"epoch {epoch}: loss {loss.item():.3f}  mean weights of the norms {norms}")


if __name__ == "__main__":
    main()
