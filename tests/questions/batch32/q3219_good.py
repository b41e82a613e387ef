import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def freeze_net(module):
    for p in module.parameters():
        p.requires_grad = False


class CustomizedEmbedding(nn.Module):
    def __init__(self, num, in_dim, out_dim, pretrained, freeze_ent_emb=True):
        super().__init__()
        self.emb = nn.Embedding(num, in_dim)
        self.emb.weight.data.copy_(pretrained)
        if freeze_ent_emb:
            freeze_net(self.emb)
        self.cpt_transform = nn.Linear(in_dim, out_dim)
        self.activation = nn.GELU()

    def forward(self, index):
        return self.activation(self.cpt_transform(self.emb(index)))


class Decoder(nn.Module):
    def __init__(self, num, in_dim, out_dim, pretrained):
        super().__init__()
        self.concept_emb = CustomizedEmbedding(num, in_dim, out_dim, pretrained)
        self.score = nn.Sequential(nn.Linear(out_dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, concepts):
        return self.score(self.concept_emb(concepts).mean(2)).squeeze(-1)


class LMGraph(nn.Module):
    def __init__(self, pretrained, out_dim=4):
        super().__init__()
        self.decoder = Decoder(pretrained.size(0), pretrained.size(1), out_dim, pretrained)

    def forward(self, concepts):
        return self.decoder(concepts)


def questions(n, relevant, num):
    concepts = torch.randint(0, num, (n, 4, 6))
    answer = relevant[concepts].sum(2).argmax(1)
    return concepts, answer


def main():
    num, dim = 300, 64
    pretrained = torch.randn(num, dim)
    relevant = pretrained[:, :4].sum(1)
    model = LMGraph(pretrained)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=3e-3)
    train, dev = questions(2000, relevant, num), questions(500, relevant, num)
    for epoch in range(8):
        order = torch.randperm(2000)
        for i in range(0, 2000, 50):
            pick = order[i : i + 50]
            loss = F.cross_entropy(model(train[0][pick]), train[1][pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = (model(dev[0]).argmax(1) == dev[1]).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} dev {acc:.3f}")


if __name__ == "__main__":
    main()
