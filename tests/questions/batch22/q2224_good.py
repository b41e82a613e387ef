import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
NODES, STEPS, HID, LAT = 24, 20, 32, 8


def snapshots(seed):
    g = torch.Generator().manual_seed(seed)
    pos = torch.randn(NODES, 2, generator=g)
    vel = torch.randn(NODES, 2, generator=g) * 0.15
    out = []
    for s in range(STEPS):
        p = pos + s * vel
        adj = (torch.cdist(p, p) < 1.0).float()
        out.append(adj)
    return torch.stack(out)


class GraphRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(NODES, HID)
        self.conv = nn.Linear(HID, HID)
        self.mean = nn.Linear(HID, LAT)
        self.in2h = nn.Linear(HID + LAT, HID)
        self.h2h = nn.Linear(HID, HID)

    def forward(self, adjs):
        h = torch.zeros(NODES, HID)
        loss = 0.0
        eye = torch.eye(NODES)
        for adj, nxt in zip(adjs[:-1], adjs[1:]):
            a = adj + eye
            x = F.relu(self.embed(eye))
            x = F.relu(self.conv(a @ x + h))
            z = self.mean(x)
            logits = z @ z.t()
            pos_weight = (nxt == 0).sum() / nxt.sum().clamp(min=1)
            loss = loss + F.binary_cross_entropy_with_logits(logits, nxt, pos_weight=pos_weight)
            h = F.relu(self.in2h(torch.cat([x, z], 1)) + self.h2h(h))
        return loss, logits


adjs = snapshots(0)
train, last = adjs[:-1], adjs[-1]
model = GraphRNN()
clip = 10.0
optimizer = torch.optim.SGD(model.parameters(), lr=2e-2, momentum=0.9)

for epoch in range(300):
    optimizer.zero_grad()
    loss, _ = model(train)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    if epoch % 60 == 59:
        print(f"epoch {epoch + 1:3d}  loss {loss.item():.4f}")

with torch.no_grad():
    _, logits = model(adjs)
acc = ((logits > 0).float() == last).float().mean().item()
print(f"last snapshot: loss {F.binary_cross_entropy_with_logits(logits, last).item():.4f}  accuracy {acc:.3f}")
