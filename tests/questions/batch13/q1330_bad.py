import torch
import torch.nn as nn


class Recommender(nn.Module):
    def __init__(self, users, items, size=16, reg=0.01):
        super().__init__()
        self.user_embed = nn.Embedding(users, size)
        self.item_embed = nn.Embedding(items, size)
        nn.init.xavier_normal_(self.user_embed.weight)
        nn.init.xavier_normal_(self.item_embed.weight)
        self.reg = reg

    def forward(self, user, pos_item, nega_item):
        final_user = self.user_embed(user)
        final_pos, final_nega = self.item_embed(pos_item), self.item_embed(nega_item)
        out = ((final_user * final_pos).sum(1) - (final_pos * final_nega).sum(1)).sigmoid()
        reg_term = self.reg * (final_user**2 + final_pos**2 + final_nega**2).sum()
        return (-torch.log(out).sum() + reg_term) / len(user)

    @torch.no_grad()
    def recall(self, seen, wanted, k=10):
        scores = self.user_embed.weight @ self.item_embed.weight.T - 1e6 * seen
        hits = wanted.gather(1, scores.topk(k)[1]).sum(1)
        return (hits / wanted.sum(1).clamp(max=k)).mean().item()


def make_ratings(users, items, generator):
    """Users have a taste and items a style, and some items please nearly everybody."""
    taste = torch.randn(users, 4, generator=generator)
    style = torch.randn(items, 4, generator=generator)
    fame = torch.randn(items, generator=generator)
    chance = torch.sigmoid(1.5 * taste @ style.T + 1.5 * fame - 2.5)
    liked = (torch.rand(users, items, generator=generator) < chance).float()
    kept = (torch.rand(users, items, generator=generator) < 0.7).float()
    return liked * kept, liked * (1 - kept)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    seen, wanted = make_ratings(200, 120, generator)
    rows = (seen.sum(1) > 0) & (wanted.sum(1) > 0)
    seen, wanted = seen[rows], wanted[rows]
    model = Recommender(len(seen), 120)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(601):
        user = torch.randint(0, len(seen), (256,), generator=generator)
        pos = torch.multinomial(seen[user], 1, generator=generator).squeeze(1)
        nega = torch.multinomial(1 - seen[user], 1, generator=generator).squeeze(1)
        loss = model(user, pos, nega)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}  recall at 10 {model.recall(seen, wanted):.4f}")


if __name__ == "__main__":
    main()
