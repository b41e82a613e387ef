import torch
from torch import nn


class TransformerLayer(nn.Module):
    def __init__(self, width, num_heads, feed_forward):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(width, feed_forward), nn.ReLU(), nn.Linear(feed_forward, width))

    def forward(self, x, mask):
        h = self.norm_1(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.norm_2(x))


class RoboticsTransformer(nn.Module):
    def __init__(self, obs_size, num_actions, num_layers, width=32):
        super().__init__()
        self.token_embedding = nn.Linear(obs_size, width)
        self.position_embedding = nn.Embedding(10, width)
        self.layers = [TransformerLayer(width, 2, 64) for _ in range(num_layers)]
        self.output_tokens = nn.Linear(width, num_actions)

    def forward(self, observations):
        steps = observations.shape[1]
        x = self.token_embedding(observations) + self.position_embedding(torch.arange(steps))
        mask = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        for layer in self.layers:
            x = layer(x, mask)
        return self.output_tokens(x)


def make_episodes(count, seed):
    generator = torch.Generator().manual_seed(seed)
    goal = torch.randint(4, (count,), generator=generator)
    observations = 0.3 * torch.randn(count, 10, 8, generator=generator)
    observations[torch.arange(count), 0, goal] += 2.0
    place = torch.randint(4, (count, 10), generator=generator)
    observations += 2.0 * nn.functional.one_hot(place + 4, 8)
    actions = (goal[:, None] - place) % 4
    return observations, actions


def main():
    observations, actions = make_episodes(800, seed=1)
    test_observations, test_actions = make_episodes(300, seed=2)
    for num_layers in (1, 3):
        torch.manual_seed(0)
        model = RoboticsTransformer(8, 4, num_layers)
        trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
        optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
        for epoch in range(6):
            total = 0.0
            for rows in torch.randperm(len(observations)).split(40):
                logits = model(observations[rows])
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), actions[rows].flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item() / 20
        with torch.no_grad():
            right = (model(test_observations).argmax(-1) == test_actions)[:, 1:].float().mean().item()
        print(
            f"num_layers {num_layers}: {trainable} trainable parameters  loss {total:.4f}  test actions right {right:.3f}"
        )


if __name__ == "__main__":
    main()
