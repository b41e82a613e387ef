import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)

CLASSES, DIM = 6, 40
protos = torch.randn(CLASSES, DIM)


def sample(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    x = protos[y] * 0.7 + torch.randn(n, DIM, generator=g)
    return x, y


class TwoViews(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def augment(self, x):
        keep = (torch.rand(DIM) > 0.3).float()
        return x * keep + 0.2 * torch.randn(DIM)

    def __getitem__(self, i):
        return [self.augment(self.x[i]), self.augment(self.x[i])]


class ContrastiveHead(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, pos, neg):
        n = pos.size(0)
        logits = torch.cat((pos, neg), dim=1) / self.temperature
        labels = torch.zeros(n, dtype=torch.long)
        return F.cross_entropy(logits, labels)


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 16))
        self.neck = nn.Sequential(nn.ReLU(), nn.Linear(16, 16))
        self.head = ContrastiveHead()

    @staticmethod
    def _create_buffer(n):
        mask = 1 - torch.eye(n * 2, dtype=torch.uint8)
        pos_ind = (torch.arange(n * 2), 2 * torch.arange(n).unsqueeze(1).repeat(1, 2).view(-1))
        neg_mask = torch.ones((n * 2, n * 2 - 1), dtype=torch.uint8)
        neg_mask[pos_ind] = 0
        return mask, pos_ind, neg_mask

    def forward_train(self, img):
        img = torch.cat(img, 0)
        x = self.backbone(img)
        z = self.neck(x)
        z = F.normalize(z, dim=1)
        n = z.size(0) // 2
        s = torch.matmul(z, z.permute(1, 0))
        mask, pos_ind, neg_mask = self._create_buffer(n)
        s = torch.masked_select(s, mask == 1).reshape(s.size(0), -1)
        positive = s[pos_ind].unsqueeze(1)
        negative = torch.masked_select(s, neg_mask == 1).reshape(s.size(0), -1)
        return self.head(positive, negative)


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
loader = DataLoader(TwoViews(train_x), batch_size=64, shuffle=True, drop_last=True)
model = SimCLR()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
print(f"before training: knn {knn(model):.3f}")
for epoch in range(15):
    total = 0.0
    for img in loader:
        loss = model.forward_train(img)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f} knn {knn(model):.3f}")
