import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
num_expert, d_model, n_classes, num_layers = 4, 16, 8, 2
centers = torch.randn(n_classes, d_model)


class NaiveGate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(d_model, num_expert)
        nn.init.constant_(self.gate.bias, 0.0)
        with torch.no_grad():
            self.gate.bias[0] = 2.0
        self.load, self.balance_loss = None, None

    def forward(self, x):
        probability = F.softmax(self.gate(x), dim=-1)
        value, index = probability.max(dim=-1)
        self.load = F.one_hot(index, num_expert).float().mean(0)
        self.balance_loss = num_expert * (self.load * probability.mean(0)).sum()
        return value, index


class MoELayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = NaiveGate()
        self.experts = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(d_model, 16), nn.GELU(), nn.Linear(16, d_model))
                for _ in range(num_expert)
            ]
        )

    def forward(self, x):
        value, index = self.gate(x)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            chosen = (index == i).nonzero().flatten()
            out = out.index_add(0, chosen, expert(x[chosen]) * value[chosen].unsqueeze(-1))
        return x + out


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([MoELayer() for _ in range(num_layers)])
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def gather_balance_loss(model):
    loss_list = [layer.gate.balance_loss for layer in model.layers]
    return torch.stack(loss_list).mean()


def load_batch(n=128):
    label = torch.randint(0, n_classes, (n,))
    return centers[label] + 0.8 * torch.randn(n, d_model), label


model = Transformer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
balance_weight = 0.1
for step in range(600):
    x, label = load_batch()
    lm_loss = F.cross_entropy(model(x), label)
    balance_loss = gather_balance_loss(model)
    loss = lm_loss + balance_weight * balance_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 200 == 0:
        print(f"step {step + 1}: lm_loss {lm_loss.item():.4f}  balance_loss {balance_loss.item():.4f}")

with torch.no_grad():
    model(load_batch(2000)[0])
for i, layer in enumerate(model.layers):
    print(
        f"layer {i}: share of tokens per expert",
        " ".join(f"{share:.2f}" for share in layer.gate.load.tolist()),
    )
