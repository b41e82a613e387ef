import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_ROADS, LENGTH, DIM = 12, 10, 8

road_emb = F.normalize(torch.randn(N_ROADS, DIM), dim=-1)
reach = torch.full((N_ROADS, N_ROADS), 1e-10)
for i in range(N_ROADS):
    for j in (i, (i + 1) % N_ROADS):
        reach[i, j] = 1.0


class TrajDenoiser(nn.Module):
    def __init__(self, dim=DIM, hidden=48):
        super().__init__()
        self.inp = nn.Linear(dim + 1, hidden)
        self.conv = nn.Conv1d(hidden, hidden, 3, padding=1)
        self.out = nn.Linear(hidden, dim)

    def forward(self, xt, t):
        h = torch.relu(self.inp(torch.cat([xt, t.expand(-1, xt.shape[1], 1)], dim=-1)))
        h = h + torch.relu(self.conv(h.transpose(1, 2))).transpose(1, 2)
        return self.out(h)


def trajectories(n=32):
    start = torch.randint(N_ROADS, (n, 1))
    moves = torch.randint(0, 2, (n, LENGTH - 1)).cumsum(1)
    return torch.cat([start, (start + moves) % N_ROADS], dim=1)


def forward_x0_constraint(model, x0):
    t = torch.rand(len(x0), 1, 1)
    noise = torch.randn_like(x0)
    xt = (1 - t).sqrt() * x0 + t.sqrt() * noise
    pred_noise = model(xt, t)
    x0_hat = (xt - t.sqrt() * pred_noise) / (1 - t).sqrt().clamp(min=0.2)
    sim = x0_hat @ road_emb.T
    prob = F.softmax(sim / 0.1, dim=-1)
    unreachable = (reach == 1e-10).float()
    jump_loss = torch.einsum("nli,ij,nlj->nl", prob[:, :-1], unreachable, prob[:, 1:]).mean()
    noise_loss = F.mse_loss(pred_noise, noise)
    return noise_loss, jump_loss


model = TrajDenoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
sums = [0.0, 0.0]
for step in range(1, 301):
    roads = trajectories()
    noise_loss, jump_loss = forward_x0_constraint(model, road_emb[roads])
    loss = noise_loss + 5.0 * jump_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sums = [sums[0] + noise_loss.item() / 60, sums[1] + jump_loss.item() / 60]
    if step % 60 == 0:
        print(f"step {step}  noise {sums[0]:.3f}  unreachable moves {sums[1]:.3f}")
        sums = [0.0, 0.0]
