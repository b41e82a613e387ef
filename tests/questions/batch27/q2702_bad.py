import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


def make_graph():
    n = int(torch.randint(5, 15, (1,)))
    x = torch.randn(n, 6)
    y = int(torch.randint(0, 2, (1,)))
    k = int(torch.randint(0, n, (1,)))
    x[k, 0] = 4.0
    x[k, 1] = 1.5 if y else -1.5
    adj = (torch.rand(n, n) < 0.3).float()
    adj = ((adj + adj.t()) > 0).float()
    adj.fill_diagonal_(1.0)
    return x, adj / adj.sum(1, keepdim=True), y


def collate(graphs):
    x = torch.cat([g[0] for g in graphs])
    adj = torch.block_diag(*[g[1] for g in graphs])
    index = torch.cat([torch.full((len(g[0]),), i) for i, g in enumerate(graphs)])
    y = torch.tensor([g[2] for g in graphs])
    return x, adj, index, y


class GlobalAttnSumPool(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.attn_kernel = nn.Parameter(torch.randn(channels, 1) * 0.1)

    def forward(self, x, index, n_graphs):
        coeff = (x @ self.attn_kernel).squeeze(-1)
        coeff = torch.softmax(coeff, dim=0)
        out = torch.zeros(n_graphs, x.shape[1])
        return out.index_add(0, index, coeff[:, None] * x)


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1 = nn.Linear(12, 32)
        self.pool = GlobalAttnSumPool(32)
        self.out = nn.Linear(32, 2)

    def forward(self, x, adj, index, n_graphs):
        h = F.relu(self.lin1(torch.cat([x, adj @ x], 1)))
        return self.out(self.pool(h, index, n_graphs))


train = [make_graph() for _ in range(480)]
test = [make_graph() for _ in range(200)]
model = GNN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def evaluate(batch_size):
    model.eval()
    correct, loss = 0, 0.0
    with torch.no_grad():
        for i in range(0, len(test), batch_size):
            x, adj, index, y = collate(test[i:i + batch_size])
            logits = model(x, adj, index, len(y))
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            correct += (logits.argmax(1) == y).sum().item()
    return loss / len(test), correct / len(test)


for epoch in range(15):
    model.train()
    order = torch.randperm(len(train)).tolist()
    total = 0.0
    for i in range(0, len(train), 40):
        x, adj, index, y = collate([train[j] for j in order[i:i + 40]])
        loss = F.cross_entropy(model(x, adj, index, len(y)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss {total / (len(train) / 40):.4f}")

for bs in (40, 1):
    print("test, batch size %d: loss %.4f acc %.3f" % (bs, *evaluate(bs)))
