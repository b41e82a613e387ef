import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(9)

VOCAB, LEN, DIM, CLASSES = 40, 8, 48, 6


class LoraLinear(nn.Module):
    def __init__(self, base, rank=8, alpha=16):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features ** 0.5)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scaling * (x @ self.lora_a.t() @ self.lora_b.t())


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.up = nn.Linear(DIM, 2 * DIM)
        self.down = nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, gradient_checkpointing=False):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.head = nn.Linear(DIM, CLASSES)
        self.gradient_checkpointing = gradient_checkpointing

    def forward(self, ids):
        h = self.embed(ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                h = checkpoint(layer, h, use_reentrant=True)
            else:
                h = layer(h)
        return self.head(h.mean(dim=1))


def make_task(seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(VOCAB, 10, generator=g)
    proj = torch.randn(10, CLASSES, generator=g)

    def batch(n):
        ids = torch.randint(0, VOCAB, (n, LEN))
        return ids, (torch.sin(2.5 * w[ids]).mean(dim=1) @ proj).argmax(dim=1)

    return batch


def fit(model, params, task, steps, lr):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    model.train()
    for step in range(steps):
        ids, y = task(64)
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


pretrain, downstream = make_task(1), make_task(2)
base = Net()
fit(base, base.parameters(), pretrain, 500, 2e-3)

model = copy.deepcopy(base)
model.gradient_checkpointing = True
for p in model.parameters():
    p.requires_grad_(False)
for layer in model.layers:
    layer.up = LoraLinear(layer.up)
    layer.down = LoraLinear(layer.down)
model.head = nn.Linear(DIM, CLASSES)
model.embed.register_forward_hook(lambda module, args, output: output.requires_grad_(True))
trainable = [p for p in model.parameters() if p.requires_grad]
print(f"trainable values: {sum(p.numel() for p in trainable)}")
final = fit(model, trainable, downstream, 900, 3e-3)

model.eval()
with torch.no_grad():
    ids, y = downstream(3000)
    acc = (model(ids).argmax(1) == y).float().mean().item()
    size = sum(m.lora_b.abs().sum().item() for m in model.modules() if isinstance(m, LoraLinear))
print(f"final loss {final:.3f}  accuracy {acc:.3f}  sum of |lora_b| {size:.3f}")
