import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)

N, GROUPS, WINDOW, DIM = 180, 6, 4, 16
label = torch.arange(N) % GROUPS
activity = 0.3 + 1.7 * torch.rand(N)
same = (label[:, None] == label[None, :]).float()
prob = (0.35 * same + 0.04 * (1 - same)) * activity[:, None] * activity[None, :]
upper = torch.triu((torch.rand(N, N) < prob.clamp(max=0.95)).float(), diagonal=1)
adjacency = upper + upper.t()
for i in range(N):
    if adjacency[i].sum() == 0:
        j = int((label == label[i]).nonzero()[0])
        j = j if j != i else j + GROUPS
        adjacency[i, j] = adjacency[j, i] = 1.0


def walk_tensor(adj, window):
    degrees = adj.sum(dim=1)
    scale = torch.diag(degrees)
    transition = scale @ adj
    powers = [transition]
    for _ in range(window - 1):
        powers.append(powers[-1] @ transition)
    return torch.stack(powers)


class AttentionWalkLayer(nn.Module):
    def __init__(self, walks, adj, beta=0.5, gamma=0.02):
        super().__init__()
        self.register_buffer("walks", walks)
        self.register_buffer("adj_opposite", 1.0 - (adj > 0).float())
        self.left = nn.Parameter(torch.empty(N, DIM).uniform_(-0.1, 0.1))
        self.right = nn.Parameter(torch.empty(DIM, N).uniform_(-0.1, 0.1))
        self.attention = nn.Parameter(torch.empty(len(walks), 1, 1).uniform_(-0.01, 0.01))
        self.beta, self.gamma = beta, gamma

    def forward(self):
        weights = F.softmax(self.attention, dim=0)
        target = N * (self.walks * weights).sum(dim=0)
        scores = self.left @ self.right
        on_target = -target * F.logsigmoid(scores)
        on_opposite = -self.adj_opposite * F.logsigmoid(-scores)
        norm = self.left.pow(2).mean() + self.right.pow(2).mean()
        loss = (on_target + on_opposite).mean() + self.gamma * norm + self.beta * self.attention.pow(2).sum() * 1e-2
        return loss, on_target.mean(), on_opposite.mean()


model = AttentionWalkLayer(walk_tensor(adjacency, WINDOW), adjacency)
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1200):
    loss, on_t, on_o = model()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 300 == 0:
        print(f"epoch {epoch:4d}  loss {loss.item():.4g}  target {on_t.item():.4g}  opposite {on_o.item():.4g}")

with torch.no_grad():
    emb = F.normalize(torch.cat([model.left, model.right.t()], dim=1), dim=1)
    sim = emb @ emb.t()
    sim.fill_diagonal_(-2)
    near = sim.topk(10, dim=1).indices
    purity = (label[near] == label[:, None]).float().mean().item()
    auc_pos = (model.left @ model.right)[adjacency > 0]
    auc_neg = (model.left @ model.right)[(adjacency == 0) & (torch.eye(N) == 0)]
    auc = (auc_pos[:, None] > auc_neg[torch.randint(0, len(auc_neg), (500,))][None, :]).float().mean().item()
print(f"final loss {loss.item():.4g}")
print(f"attention {F.softmax(model.attention, 0).flatten().tolist()}")
print(f"neighbours of the same group {purity:.3f}  link auc {auc:.3f}")
