import torch
import torch.nn as nn

torch.manual_seed(0)


class TemporalAttentionPooling(nn.Module):
    """Weighs the last observations and sums them."""

    def __init__(self, features_in):
        super().__init__()
        self.attention_pooling = nn.Sequential(
            nn.Conv1d(features_in, 1, kernel_size=1, bias=True),
            nn.Softmax(dim=2),
        )

    def forward(self, features):
        x = features.transpose(1, 2)
        weights = self.attention_pooling(x)
        return (x * weights).sum(2), weights


class LamaActor(nn.Module):
    def __init__(self, obs_dim, hidden, out):
        super().__init__()
        self.observation_net = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.pool = TemporalAttentionPooling(hidden)
        self.head = nn.Linear(hidden, out)

    def forward(self, history):
        pooled, weights = self.pool(self.observation_net(history))
        return self.head(pooled), weights


def make_batch(n=64, history=12):
    obs = torch.randn(n, history, 5)
    idx = torch.randint(0, history, (n,))
    obs[..., 4] = -1.0
    obs[torch.arange(n), idx, 4] = 2.0
    return obs, obs[torch.arange(n), idx, :2]


actor = LamaActor(5, 32, 2)
optimizer = torch.optim.Adam(actor.parameters(), lr=5e-3)
criterion = nn.MSELoss()
for step in range(401):
    history, target = make_batch()
    pred, weights = actor(history)
    loss = criterion(pred, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step:3d} loss {loss.item():.4f}")
print("weights of one history:", [round(w, 2) for w in weights[0, 0].tolist()])
