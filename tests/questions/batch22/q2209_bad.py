import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
N, VOCAB, WORDS, CATS = 1536, 120, 12, 6

topic = torch.randn(N, 8)
photo = torch.tanh(topic @ torch.randn(8, 40)) + 0.3 * torch.randn(N, 40)
word_scores = topic @ torch.randn(8, VOCAB)
tokens = (word_scores + torch.randn(N, VOCAB)).topk(WORDS, dim=1).indices
meta = ((topic @ torch.randn(8, CATS)) > 0.5).float()

train = TensorDataset(photo[:1280], tokens[:1280], meta[:1280])
photo_v, tokens_v, meta_v = photo[1280:], tokens[1280:], meta[1280:]
loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True)


class Recipes(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, dim))
        self.words = nn.EmbeddingBag(VOCAB, 64)
        self.text = nn.Sequential(nn.ReLU(), nn.Linear(64, dim))
        self.meta = nn.Linear(2 * dim, CATS)

    def forward(self, image, tokens):
        a = F.normalize(self.image(image), dim=1)
        b = F.normalize(self.text(self.words(tokens)), dim=1)
        return a, b, self.meta(torch.cat([a, b], dim=1))


def match_loss(a, b, temperature=0.1):
    sims = a @ b.t() / temperature
    target = torch.arange(len(sims))
    return 0.5 * (F.cross_entropy(sims, target) + F.cross_entropy(sims.t(), target))


model = Recipes()
bce = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5)

for epoch in range(25):
    model.train()
    sums = torch.zeros(2)
    for image, text, cats in loader:
        optimizer.zero_grad()
        a, b, meta_preds = model(image, text)
        pair_loss = match_loss(a, b)
        meta_loss = Variable(bce(meta_preds.detach().cpu(), cats), requires_grad=True)
        loss = pair_loss + meta_loss
        loss.backward()
        optimizer.step()
        sums += torch.tensor([pair_loss.item(), meta_loss.item()])
    if epoch % 6 == 0:
        print(epoch, "pair %.4f meta %.4f" % tuple((sums / len(loader)).tolist()))

model.eval()
with torch.no_grad():
    a, b, logits = model(photo_v, tokens_v)
    recall = ((a @ b.t()).argmax(1) == torch.arange(len(a))).float().mean()
    prob = logits.sigmoid()
    hit = ((prob > 0.5).float() == meta_v).float().mean()
print(f"recall@1 {recall:.3f}  meta BCE {bce(logits, meta_v):.4f}  meta accuracy {hit:.3f}")
print(f"probabilities from {prob.min():.3f} to {prob.max():.3f}")
