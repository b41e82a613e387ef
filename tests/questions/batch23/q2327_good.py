import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)


def binary_cross_entropy(inputs, target, smooth_eps=None, from_logits=True):
    smooth_eps = smooth_eps or 0
    if smooth_eps > 0:
        target = target.float() * (1 - smooth_eps)
        target = target + smooth_eps / 2
    if from_logits:
        return F.binary_cross_entropy_with_logits(inputs, target)
    return F.binary_cross_entropy(inputs, target)


class SmoothBCE(nn.Module):
    def __init__(self, smooth_eps=0.1):
        super().__init__()
        self.smooth_eps = smooth_eps

    def forward(self, logits, target):
        return binary_cross_entropy(logits, target, self.smooth_eps)


class Tagger(nn.Module):
    def __init__(self, vocab=300, dim=32, tags=6):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, tags))

    def forward(self, tokens):
        return self.net(self.emb(tokens))


tag_of_word = torch.randint(0, 6, (300,))


def documents(n, length=16):
    tags = (torch.rand(n, 6) < 0.4)
    tags[torch.arange(n), torch.randint(0, 6, (n,))] = True
    weights = tags.float()[:, tag_of_word] + 0.15
    tokens = torch.multinomial(weights, length, replacement=True)
    return tokens, tags.float()


train_set = TensorDataset(*documents(5000))
test_tokens, test_tags = documents(1500)
loader = DataLoader(train_set, batch_size=64, shuffle=True)
model = Tagger()
criterion = SmoothBCE(0.1)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(20):
    model.train()
    total = 0.0
    for tokens, tags in loader:
        loss = criterion(model(tokens), tags)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch:2d} loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    prob = torch.sigmoid(model(test_tokens))
pred = (prob > 0.5).float()
recall = (pred * test_tags).sum() / test_tags.sum()
precision = (pred * test_tags).sum() / pred.sum().clamp(min=1)
print(f"precision {precision:.3f} recall {recall:.3f} accuracy {(pred == test_tags).float().mean():.3f}")
print(f"mean probability of the true tags {prob[test_tags > 0].mean():.3f}, of the others {prob[test_tags == 0].mean():.3f}")
