import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)

CLASSES, DIM, WORLD_SIZE = 6, 40, 2
protos = torch.randn(CLASSES, DIM)


def sample(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    return protos[y] * 0.7 + torch.randn(n, DIM, generator=g), y


class Views(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def augment(self, x):
        keep = (torch.rand(DIM) > 0.3).float()
        return x * keep + 0.2 * torch.randn(DIM)

    def __getitem__(self, i):
        return i, self.augment(self.x[i]), self.augment(self.x[i])


def gather(zs):
    return torch.cat(zs, dim=0)


def simclr_loss_func(z, indexes, gathered_z, gathered_indexes, rank, temperature=0.2):
    z = F.normalize(z, dim=-1)
    gathered_z = F.normalize(gathered_z, dim=-1)
    sim = torch.exp(torch.einsum("if, jf -> ij", z, gathered_z) / temperature)

    indexes = indexes.unsqueeze(0)
    gathered_indexes = gathered_indexes.unsqueeze(0)
    pos_mask = indexes.t() == gathered_indexes
    pos_mask[:, rank * z.size(0):].fill_diagonal_(False)
    neg_mask = indexes.t() != gathered_indexes

    pos = torch.sum(sim * pos_mask, 1)
    neg = torch.sum(sim * neg_mask, 1)
    loss = -(torch.mean(torch.log(pos / (pos + neg))))
    return loss


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 16))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(16, 16))

    def forward(self, x):
        return self.projector(self.backbone(x))


def knn(model, k=5):
    model.eval()
    with torch.no_grad():
        ftr = F.normalize(model.backbone(train_x), dim=1)
        fte = F.normalize(model.backbone(test_x), dim=1)
        idx = (fte @ ftr.t()).topk(k, dim=1).indices
        pred = train_y[idx].mode(dim=1).values
    model.train()
    return (pred == test_y).float().mean().item()


train_x, train_y = sample(640, 1)
test_x, test_y = sample(400, 2)
loader = DataLoader(Views(train_x), batch_size=64, shuffle=True, drop_last=True)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
print(f"before training: knn {knn(model):.3f}")
for epoch in range(12):
    totals = [0.0] * WORLD_SIZE
    for idx, x1, x2 in loader:
        zs, ids = [], []
        for i, a, b in zip(idx.chunk(WORLD_SIZE), x1.chunk(WORLD_SIZE), x2.chunk(WORLD_SIZE)):
            zs.append(model(torch.cat([a, b])))
            ids.append(i.repeat(2))
        gathered_z, gathered_ids = gather(zs), gather(ids)
        losses = [simclr_loss_func(zs[r], ids[r], gathered_z, gathered_ids, r)
                  for r in range(WORLD_SIZE)]
        loss = sum(losses) / WORLD_SIZE
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals = [t + l.item() for t, l in zip(totals, losses)]
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} " + " ".join(f"rank{r} loss {t / len(loader):.4f}" for r, t in enumerate(totals))
              + f" knn {knn(model):.3f}")
