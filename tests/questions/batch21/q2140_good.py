import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_CLASS, DIM_IN, DIM_Z, BANK, TEMP = 10, 48, 64, 4096, 0.1

gen = torch.Generator().manual_seed(4)
centres = torch.randn(N_CLASS, 10, generator=gen)
mix = torch.randn(10, DIM_IN, generator=gen) / 10 ** 0.5
noise_mix = torch.randn(24, DIM_IN, generator=gen) / 24 ** 0.5


def sample(n):
    y = torch.randint(0, N_CLASS, (n,), generator=gen)
    return (centres[y] + 0.4 * torch.randn(n, 10, generator=gen)) @ mix, y


def augment(x):
    return x + torch.randn(len(x), 24, generator=gen) @ noise_mix + 0.1 * torch.randn(x.shape, generator=gen)


class MemoryBank(nn.Module):
    def __init__(self, size, dim):
        super().__init__()
        self.size = size
        self.register_buffer("bank", torch.empty(0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))
        self.init_bank(dim)

    @torch.no_grad()
    def init_bank(self, dim):
        self.bank = torch.randn(dim, self.size)
        self.bank = F.normalize(self.bank, dim=0)

    @torch.no_grad()
    def update(self, keys):
        p = int(self.ptr)
        self.bank[:, p:p + len(keys)] = keys.T
        self.ptr[0] = (p + len(keys)) % self.size


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(DIM_IN, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64))
        self.projection = nn.Sequential(nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, DIM_Z))
        self.backbone_m = copy.deepcopy(self.backbone).requires_grad_(False)
        self.projection_m = copy.deepcopy(self.projection).requires_grad_(False)
        self.memory = MemoryBank(BANK, DIM_Z)

    @torch.no_grad()
    def momentum_update(self, m=0.99):
        pairs = [(self.backbone, self.backbone_m), (self.projection, self.projection_m)]
        for online, slow in pairs:
            for p, q in zip(online.parameters(), slow.parameters()):
                q.mul_(m).add_(p, alpha=1 - m)

    def forward(self, x_q, x_k):
        self.momentum_update()
        q = F.normalize(self.projection(self.backbone(x_q)), dim=1)
        with torch.no_grad():
            k = F.normalize(self.projection_m(self.backbone_m(x_k)), dim=1)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.memory.bank.clone()
        logits = torch.cat([positive, negative], 1) / TEMP
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
        self.memory.update(k)
        return loss, q.detach().std(0).mean().item()


x_train, y_train = sample(4096)
x_test, y_test = sample(1500)
model = MoCo()
params = list(model.backbone.parameters()) + list(model.projection.parameters())
optimizer = torch.optim.SGD(params, lr=0.06, momentum=0.9, weight_decay=5e-4)
for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(64):
        loss, spread = model(augment(x_train[idx]), augment(x_train[idx]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(x_train):.3f}  spread of the embedding {spread:.4f}")

model.eval()
with torch.no_grad():
    f_train = F.normalize(model.backbone(augment(x_train)), dim=1)
    f_test = F.normalize(model.backbone(augment(x_test)), dim=1)
near = (f_test @ f_train.T).topk(20, dim=1).indices
vote = F.one_hot(y_train[near], N_CLASS).sum(1).argmax(1)
print(f"kNN accuracy {(vote == y_test).float().mean().item():.3f}")
