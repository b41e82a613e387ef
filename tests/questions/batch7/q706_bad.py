import torch
from torch import nn

torch.manual_seed(0)


class GetTotScores(torch.autograd.Function):
    """Total log score of every sequence's arcs."""

    @staticmethod
    def forward(ctx, arc_scores, arc_mask):
        masked = arc_scores.masked_fill(~arc_mask, float("-inf"))
        tot_scores = torch.logsumexp(masked, dim=1)
        ctx.save_for_backward(masked, tot_scores)
        return tot_scores

    @staticmethod
    def backward(ctx, tot_scores_grad):
        masked, tot_scores = ctx.saved_tensors
        arc_post = torch.exp(masked - tot_scores.unsqueeze(1))
        return arc_post, None


class AcousticModel(nn.Module):
    def __init__(self, dim=20, arcs=12):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, arcs))

    def forward(self, feats):
        return self.layers(feats)


class LFMMILoss(nn.Module):
    def forward(self, arc_scores, num_mask):
        den_mask = torch.ones_like(num_mask)
        num_tot_scores = GetTotScores.apply(arc_scores, num_mask)
        den_tot_scores = GetTotScores.apply(arc_scores, den_mask)
        tot_score = (num_tot_scores - den_tot_scores).mean()
        return -tot_score


def make_data(n=1024, dim=20, arcs=12):
    centers = torch.randn(arcs // 3, dim)
    label = torch.randint(0, arcs // 3, (n,))
    feats = 1.5 * centers[label] + torch.randn(n, dim)
    mask = torch.zeros(n, arcs, dtype=torch.bool)
    for k in range(3):
        mask[torch.arange(n), 3 * label + k] = True
    return feats, mask


def main():
    feats, mask = make_data()
    model = AcousticModel()
    criterion = LFMMILoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    for epoch in range(1, 11):
        total = 0.0
        for index in torch.randperm(len(feats)).split(64):
            optimizer.zero_grad()
            loss = criterion(model(feats[index]), mask[index])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
        if epoch % 2 == 0:
            print(f"epoch {epoch}: objective {total / 16:.4f}")


if __name__ == "__main__":
    main()
