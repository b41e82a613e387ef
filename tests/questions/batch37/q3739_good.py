import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
CLASSES, DIM, N_BG = 5, 512, 64


class ActionModel(nn.Module):
    def __init__(self, text_features):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, DIM))
        self.register_buffer("text_features", text_features)
        self.bg_embeddings = nn.Parameter(torch.empty(N_BG, DIM))
        nn.init.kaiming_uniform_(self.bg_embeddings, nonlinearity="relu")
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, snippets):
        vis = self.visual(snippets)
        vis = vis / vis.norm(dim=-1, keepdim=True)
        text = self.text_features / self.text_features.norm(dim=-1, keepdim=True)
        background = self.bg_embeddings / self.bg_embeddings.norm(dim=-1, keepdim=True)
        logits = torch.cat([vis @ text.t(), (vis @ background.t()).max(dim=1, keepdim=True).values], dim=1)
        return self.scale * logits


centers = torch.randn(CLASSES + 1, 20)


def make_clips(n):
    y = torch.randint(0, CLASSES + 1, (n,))
    return centers[y] + 0.6 * torch.randn(n, 20), y


train_loader = DataLoader(TensorDataset(*make_clips(1200)), batch_size=40, shuffle=True)
x_test, y_test = make_clips(300)

model = ActionModel(torch.randn(CLASSES, DIM))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for snippets, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(snippets), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.4f} test acc {acc:.3f}")
