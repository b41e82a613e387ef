import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class KeywordModel(nn.Module):
    def __init__(self, feats=16, hidden=32, words=4):
        super().__init__()
        self.gru = nn.GRU(feats, hidden, batch_first=True)
        self.classifier = nn.Linear(hidden, words)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.classifier(out.mean(1))


class Executor:
    def __init__(self):
        self.step = 0

    def train(self, model, optimizer, loader, args):
        model.train()
        total = 0.0
        for feats, target in loader:
            logits = model(feats)
            loss = nn.functional.cross_entropy(logits, target)
            optimizer.zero_grad()
            loss.backward()
            grad_norm = clip_grad_norm_(model.parameters(), args["grad_clip"])
            if torch.isfinite(grad_norm):
                optimizer.step()
            self.step += 1
            total += loss.item()
        return total / len(loader)


def keyword_data(n=512, frames=12, feats=16, words=4):
    patterns = 0.35 * torch.randn(words, frames, feats)
    target = torch.randint(0, words, (n,))
    return TensorDataset(patterns[target] + torch.randn(n, frames, feats), target)


loader = DataLoader(keyword_data(), batch_size=32, shuffle=True)
model = KeywordModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
executor = Executor()
for epoch in range(1, 17):
    loss = executor.train(model, optimizer, loader, {"grad_clip": 5.0})
    if epoch % 2 == 0:
        print(f"epoch {epoch}: loss {loss:.4f}")
