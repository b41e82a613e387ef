import torch
import torch.nn as nn
import torch.nn.functional as F


class ParsingNet(nn.Module):
    def __init__(self, n_rows=6, n_cols=5):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.cls = nn.Linear(32, n_rows * n_cols)
        self.shape = (n_cols, n_rows)

    def forward(self, x):
        return self.cls(self.model(x)).view(-1, *self.shape)


def lanes(n, w, rows=6, cols=5):
    x = torch.randn(n, 40)
    y = (x @ w).view(n, cols, rows).argmax(dim=1)
    return x, y


torch.manual_seed(0)
w = torch.randn(40, 30)
net = ParsingNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x0, y0 = lanes(800, w)
for epoch in range(10):
    for idx in torch.randperm(800).split(50):
        loss = F.cross_entropy(net(x0[idx]), y0[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(f"pretrained loss {loss.item():.4f}")

state_all = {k: v.clone() for k, v in net.state_dict().items()}
net = ParsingNet()
state_clip = {k: v for k, v in state_all.items() if "model" in k}
net.load_state_dict(state_clip, strict=False)
for param in net.parameters():
    param.requires_grad = False

x1, y1 = lanes(100, w)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(20):
    total = 0.0
    for idx in torch.randperm(100).split(20):
        loss = F.cross_entropy(net(x1[idx]), y1[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        print(f"finetune epoch {epoch} loss {total / 5:.4f}")
