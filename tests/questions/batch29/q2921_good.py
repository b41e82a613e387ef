import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(22)
torch.set_num_threads(1)


class TransformerBinaryClassifier(nn.Module):
    def __init__(self, dim=16, heads=2, layers=1):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, heads, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.classifier = nn.Linear(dim, 1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x, mask):
        h = self.encoder(x, src_key_padding_mask=~mask)
        h = (h * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        logits = self.classifier(h)
        return logits.squeeze(-1)


class Encoder(nn.Module):
    def __init__(self, in_dim=6, dim=16):
        super().__init__()
        self.gnn = nn.Linear(in_dim, dim)
        self.head = TransformerBinaryClassifier(dim)

    def forward(self, x, mask):
        return self.head(torch.relu(self.gnn(x)), mask)


def criterion(logits, labels):
    loss_classify = F.binary_cross_entropy_with_logits(logits, labels, reduction='none')
    return torch.mean(loss_classify)


def make_edges(n, rate=0.1):
    y = (torch.rand(n) < rate).float()
    x = torch.randn(n, 10, 6)
    x[:, :, 0] += 0.9 * y[:, None]
    x[:, :, 1] -= 0.6 * y[:, None]
    mask = torch.arange(10)[None, :] < torch.randint(4, 11, (n, 1))
    return TensorDataset(x, mask, y)


def auc(score, y):
    pos, neg = score[y == 1], score[y == 0]
    return (pos[:, None] > neg[None, :]).float().mean().item()


train_loader = DataLoader(make_edges(1500), batch_size=64, shuffle=True)
tx, tm, ty = make_edges(500).tensors
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for x, mask, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x, mask), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(tx, tm)
        test_loss = criterion(out, ty).item()
        score = torch.sigmoid(out)
    print(f"epoch {epoch}  loss {total / len(train_loader):.4f}  test loss {test_loss:.4f}  auc {auc(score, ty):.3f}  "
          f"mean score {score.mean():.3f} (anomalies {ty.mean():.3f})")
