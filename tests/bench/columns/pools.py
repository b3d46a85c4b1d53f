"""Words of ten languages for the tables of trades: given and family names, towns, streets, firms. From general
knowledge; written for this bench before any of its tables was run, and drawn from nowhere else."""

POOLS = {
    "de": {
        "first": "Annegret Burkhard Cornelia Dietmar Elfriede Falko Gudrun Hartmut Ilse Jochen Katrin Lothar Mareike Norbert Ottilie Philipp Roswitha Sören Tanja Uwe Veronika Wolfram Yvonne Marlene Thorben Svenja Eberhard Ines",
        "last": "Achterberg Brinkmann Czerny Dörfler Ebeling Fröhlich Gerstenberg Hillebrand Jaschke Kießling Lindhorst Mühlbauer Nettelbeck Oberländer Pfannkuch Quandt Riedesel Sauerwein Tiedemann Uhlenbrock Vollmer Wiedenhöfer Zimmerer Krautkrämer Böhnisch Stegemann Ruppert Halbach",
        "city": "Bad_Hersfeld Cloppenburg Delitzsch Emden Fürstenwalde Gifhorn Husum Itzehoe Jena Kevelaer Lüdenscheid Meppen Nördlingen Oelde Pirmasens Rastatt Sonthofen Torgau Unna Verden Wismar Zwickau",
        "street": "Ahornweg Bahnhofstraße Am_Mühlgraben Lindenallee Kirchplatz Hinter_der_Mauer Schillerstraße Goethering Feldgasse Rosenweg Marktstraße Zum_Steinbruch Burgwall Gartenstraße Tannenweg",
        "firm": "Brenner_Metallbau_GmbH Havelland_Logistik_AG Optik_Seidel Gebr._Thoma_KG Nordwind_Energie_eG Druckerei_Rapp Ostermann_&_Söhne Kanzlei_Dr._Wirth Stadtwerke_Lohfelden Elektro_Pöhlmann Bäckerei_Hinz_OHG Weingut_Laubach",
    },
    "fr": {
        "first": "Aurélie Bastien Clémence Didier Élodie Fabrice Gwenaëlle Hervé Inès Joël Karine Ludovic Maëlle Noémie Olivier Perrine Quentin Régine Séverine Thibault Ursule Valentin Xavier Yannick Zoé Solange Mathurin Capucine",
        "last": "Aubertin Baudelot Carpentier Delahaye Escoffier Fontanel Guilbert Hennequin Imbert Jolivet Kerbrat Lemoine Maréchal Noblet Ozanne Peltier Quéméneur Rousselle Saint-Amand Thévenot Vauquelin Wattiez Yvernault Bourgeois Chastagnier Ducrocq Lanvin Morvan",
        "city": "Agen Béziers Cherbourg Dieppe Épinal Foix Guéret Hyères Issoire Joigny Laval Mende Nevers Orange Périgueux Quimper Roanne Saumur Tulle Vannes Vierzon",
        "street": "rue_des_Lilas avenue_Jean-Jaurès boulevard_Gambetta place_du_Marché impasse_des_Tilleuls chemin_de_la_Fontaine rue_Pasteur quai_de_la_Loire allée_des_Peupliers rue_Saint-Martin cours_Lafayette route_de_Lyon",
        "firm": "Boulangerie_Peltier_SARL Transports_Morvan Cabinet_Aubertin Menuiserie_du_Centre Éditions_de_la_Loire Garage_Thévenot Pharmacie_des_Halles Conserverie_Kerbrat_SA Imprimerie_Noblet Pompes_Wattiez_SAS Jardinerie_Issoire Assurances_Carpentier",
    },
    "es": {
        "first": "Araceli Benito Consuelo Desiderio Encarnación Fermín Gregoria Hilario Inmaculada Jacinto Leocadia Marcelino Nieves Onofre Pilar Rosendo Soledad Teófilo Úrsula Valentín Ximena Yolanda Íñigo Macarena Gonzalo Noelia Iker Rocío",
        "last": "Aguirrezabal Bermúdez Cifuentes Domínguez Escribano Figueroa Gallardo Hinojosa Iglesias Jurado Lozano Maldonado Navarrete Ochoa Palomino Quintanilla Redondo Sepúlveda Trujillo Urrutia Villalobos Yáñez Zamorano Carrasco Piñeiro Montesinos Echevarría Robledo",
        "city": "Albacete Badajoz Cuenca Denia Écija Ferrol Getafe Huesca Irún Jaén Lugo Mérida Níjar Olot Palencia Ronda Soria Teruel Úbeda Vigo Zafra",
        "street": "Calle_Mayor Avenida_de_la_Constitución Plaza_España Calle_del_Olmo Paseo_Marítimo Camino_Viejo Calle_San_Roque Ronda_Norte Travesía_del_Pozo Calle_Cervantes Avenida_Andalucía Calle_Real",
        "firm": "Talleres_Gallardo_S.L. Hermanos_Lozano_S.A. Panadería_Ochoa Asesoría_Trujillo Frutas_del_Segura Clínica_Dental_Redondo Viveros_Jaén Autocares_Palencia Bodegas_Urrutia Electricidad_Soria Muebles_Carrasco Ferretería_Vigo",
    },
    "it": {
        "first": "Adalgisa Beniamino Carmela Donato Ersilia Fausto Giuseppina Ivano Loredana Massimiliano Nunzia Orazio Pasqualina Raffaele Serafina Tommaso Umberto Violetta Zaccaria Ginevra Leonardo Ilaria Gaetano Mirella Saverio Ornella Patrizio Teresa",
        "last": "Abbatantuono Bertolucci Castagnoli Di_Benedetto Esposito Fabbri Gasparini Iannone Lombardozzi Mastrangelo Nardelli Orsini Pellegrino Quattrocchi Ravelli Santoro Tagliabue Ungaro Vanzetti Zanardi Mancuso Bevilacqua De_Rosa Colantuono Ferrante Grimaldi Palumbo Scognamiglio",
        "city": "Alghero Biella Crotone Desenzano Empoli Faenza Gorizia Imola L'Aquila Matera Nuoro Orvieto Pescara Rovigo Savona Teramo Udine Viterbo Asti Cuneo",
        "street": "via_Garibaldi piazza_Dante corso_Umberto_I viale_Europa vicolo_Stretto via_dei_Mille largo_Augusto via_Roma strada_Vecchia via_Mazzini contrada_San_Biagio lungomare_Colombo",
        "firm": "Officina_Ravelli_S.r.l. Pastificio_Di_Benedetto Studio_Legale_Orsini Cantine_Fabbri_S.p.A. Tipografia_Udine Trasporti_Mancuso Farmacia_San_Biagio Edilizia_Teramo_Srl Autoscuola_Dante Caseificio_Asti Ottica_Zanardi Vetreria_Empoli",
    },
    "nl": {
        "first": "Aafke Bastiaan Corrie Diederik Eefje Femke Gijs Hendrika Ingrid Joost Klaas Lieke Marjolein Niels Oda Pieter Quirine Roelof Sanne Teun Ursula Wouter Ymke Zjoske Jorrit Maaike Sjoerd Anneloes",
        "last": "van_der_Aa Bakhuizen Claassen Dijkgraaf van_Elburg Faber ter_Haar IJzerman Jonkers Kuipers Lubbers Mulderij Noordhoek Oosterhuis Prinsen de_Quay Ruijter Schouten Terpstra Uittenbogaard Veenstra Wijngaard Zandstra Hoekstra de_Lange Brouwers van_den_Heuvel Postma",
        "city": "Apeldoorn Bergen_op_Zoom Coevorden Delfzijl Emmen Franeker Gouda Hoogeveen IJsselstein Joure Kampen Lochem Meppel Nunspeet Oss Purmerend Roermond Sneek Tiel Venray Zutphen",
        "street": "Dorpsstraat Kerkweg Molenlaan Havenkade Julianaplein Singel Eikenlaan Schoolstraat Waterlooplein Beukenhof Zonneweg Oude_Gracht",
        "firm": "Bouwbedrijf_Terpstra_B.V. Kwekerij_De_Linde Slagerij_Postma Vervoer_Noord_N.V. Tandartspraktijk_Singel Fietsenhandel_Jonkers Drukkerij_Veenstra Rederij_Zandstra Notariskantoor_Faber Stichting_Het_Anker Zuivelfabriek_Lochem Hotel_De_Kroon",
    },
    "pl": {
        "first": "Agnieszka Bogumił Celina Dariusz Elżbieta Feliks Grażyna Henryk Iwona Jarosław Krystyna Lech Małgorzata Norbert Olga Przemysław Róża Stanisław Teresa Urszula Wiesław Zbigniew Żaneta Łucja Sławomir Jadwiga Mirosław Bożena",
        "last": "Adamczyk Bielecki Chmielewska Dąbrowski Figura Gołębiowska Herman Jabłoński Krawczyk Lis Maciejewska Nowakowski Ostrowska Piątek Rutkowski Sikora Tomaszewski Urban Walczak Zawadzka Żak Śliwiński Wrona Górecka Kozłowski Pietrzak Baran Majewska",
        "city": "Augustów Bielsko-Biała Chełm Dębica Ełk Głogów Hajnówka Inowrocław Jasło Kutno Leszno Mielec Nysa Olkusz Płock Rzeszów Słupsk Tarnów Ustka Żary Łomża",
        "street": "ul._Polna ul._Mickiewicza al._Niepodległości pl._Wolności ul._Szkolna os._Kościuszki ul._3_Maja ul._Długa ul._Kwiatowa ul._Leśna ul._Ogrodowa ul._Krótka",
        "firm": "Zakład_Stolarski_Lis Budimpol_Sp._z_o.o. Apteka_Pod_Lwem Transport_Sikora Hurtownia_Urban_S.A. Piekarnia_Baran Kancelaria_Żak Gabinet_Górecka Elektromontaż_Płock Drukarnia_Nysa Sad_Ogrodowa Myjnia_Polna",
    },
    "pt": {
        "first": "Adelaide Belmiro Custódia Deolinda Edmundo Filomena Gaspar Henriqueta Idalina Jerónimo Leonilde Manuela Nélson Otília Piedade Quitéria Rogério Sónia Telmo Umbelina Vasco Zulmira Tiago Anabela Caetano Fátima Álvaro Lurdes",
        "last": "Abrantes Baptista Cabral Dinis Esteves Figueiredo Guimarães Henriques Jordão Lacerda Magalhães Nogueira Oliveira Pacheco Queirós Rebelo Saraiva Teixeira Valadares Xavier Brandão Coutinho Falcão Sardinha Mendonça Peixoto Serrano Vilhena",
        "city": "Aveiro Beja Covilhã Elvas Faro Guarda Lagos Mafra Nazaré Óbidos Peniche Régua Setúbal Tomar Viseu Chaves Évora Portalegre",
        "street": "Rua_da_Liberdade Avenida_25_de_Abril Largo_do_Pelourinho Travessa_do_Forno Rua_das_Flores Praça_da_República Beco_do_Carmo Estrada_Nacional Rua_Direita Alameda_dos_Plátanos",
        "firm": "Padaria_Nogueira_Lda Construções_Teixeira_S.A. Clínica_do_Carmo Transportes_Rebelo Quinta_do_Vale Gráfica_Tomar Farmácia_Central Conservas_Peniche Escola_de_Condução_Faro Vinhos_Douro_Lda",
    },
    "tr": {
        "first": "Ayşegül Bülent Ceyda Doğukan Elif Fatih Gülsüm Hakan İpek Kadir Leyla Mustafa Nazlı Oğuz Pınar Rıza Sevgi Tuncay Umut Volkan Yasemin Zeynep Çağla Şükrü Ömer Berna Serkan Hülya",
        "last": "Akbulut Bozkurt Çakmak Demirel Erdoğdu Fidan Güngör Işık Karadağ Mutlu Oktay Özkan Polat Sarıkaya Şentürk Taşkın Ünal Yıldırım Zengin Korkmaz Aydın Kılıç Doğan Aslan Bayram Tekin Uçar Keskin",
        "city": "Adıyaman Bolu Çorum Düzce Edirne Fethiye Giresun Iğdır Kütahya Manisa Nevşehir Ordu Rize Sivas Tokat Uşak Yozgat Zonguldak",
        "street": "Atatürk_Caddesi Cumhuriyet_Mah._Gül_Sokak İnönü_Bulvarı Lale_Sokak Barış_Caddesi Çınar_Sokak Mimar_Sinan_Cad. Fatih_Mahallesi_Okul_Sok.",
        "firm": "Yıldız_Tekstil_A.Ş. Demirel_İnşaat_Ltd._Şti. Anadolu_Gıda Ege_Nakliyat Özkan_Eczanesi Boğaziçi_Turizm Karadağ_Otomotiv Güngör_Mobilya",
    },
    "sv": {
        "first": "Agneta Birger Camilla Dag Eskil Frida Gunnel Håkan Ingegerd Jörgen Kerstin Lennart Märta Nils Ove Pernilla Rune Siv Torsten Ulrika Viveka Åke Örjan Ebba Hjalmar Lovisa Sixten Tuva",
        "last": "Andreasson Bergström Cederholm Dahlgren Ekdahl Forsell Gyllenhammar Hedlund Isaksson Jonasson Kjellberg Lindqvist Månsson Nyström Olofsson Palmgren Rosenqvist Sandström Törnblom Uggla Wallin Åkesson Öberg Hammarberg Lagerlöf Sjödin Stenmark Ljungberg",
        "city": "Alingsås Borlänge Enköping Falun Gällivare Härnösand Kalmar Lidköping Mora Norrtälje Oskarshamn Piteå Ronneby Skövde Trollhättan Ystad Åmål Östersund",
        "street": "Storgatan Björkvägen Kyrkogatan Strandvägen Skolgatan Tallbacken Järnvägsgatan Ringvägen Kungsgatan Ängsstigen",
        "firm": "Bergströms_Bygg_AB Öbergs_Åkeri Tandkliniken_Falun Mora_Träindustri_AB Lindqvist_Redovisning Kalmar_Rederi Skövde_Energi_AB Ystads_Bageri",
    },
    "en": {
        "first": "Abigail Barnaby Constance Desmond Eunice Fergus Gwendolyn Horace Imogen Jasper Keira Leopold Millicent Nigel Ophelia Percival Rosalind Sheldon Tabitha Ulysses Verity Winston Yasmin Zachary Marcus Shauna Tyrone Brianna",
        "last": "Ainsworth Bickerstaff Calloway Devereux Eastwood Fairbanks Goodall Hathaway Ingleby Jessop Kendrick Lockwood Merriweather Northcott Oldfield Pemberton Quigley Rutherford Standish Thornbury Underhill Vickers Whitcombe Yardley Okonkwo Delgado McAllister O'Rourke",
        "city": "Altrincham Boise Chesterfield Dubuque Evesham Fresno Grimsby Harrogate Ithaca Joplin Kettering Laramie Macon Nantwich Oswego Penrith Redding Scranton Truro Utica Wigan Yuma",
        "street": "Maple_Avenue High_Street Station_Road Elm_Court Kingsway Lakeview_Drive Mill_Lane Orchard_Close Prospect_Street Queens_Road Victoria_Terrace Willow_Way",
        "firm": "Calloway_&_Sons_Ltd Northcott_Freight_Inc. Harbour_Lane_Dental Pemberton_Holdings_LLC Redding_Tool_Co. Underhill_Estates Kettering_Packaging_plc Bluebell_Nursery Vickers_Insurance_Brokers Laramie_Outfitters Standish_Legal Truro_Brewing_Company",
    },
}
POOLS = {k: {p: [w.replace("_", " ") for w in t.split()] for p, t in v.items()} for k, v in POOLS.items()}
